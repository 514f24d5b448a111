"""Tells models what they may do unasked, so that they need not find it out by being refused."""

from __future__ import annotations

from collections.abc import AsyncIterator

from everlog.kernel import Context, Scope, plugin
from everlog.prompt.seam import Contexts, Fact
from everlog.session.log import Log
from everlog.tools.permissions.modes import Mode
from everlog.tools.permissions.policy import Permissions
from everlog.tools.seam import Approver

_TOLD: dict[Mode, str] = {
    "read-only": "you may look, and change nothing: calls of tools that may are refused",
    "ask": "a person is asked before a call that may change something runs; looking is free",
    "edit": "files of the workspace may be changed freely; a person is asked before anything else that changes things",
    "full": "whatever stays inside the workspace runs without asking; a path that leads out of it is asked about",
}
_TOLD_WITH_NOBODY: dict[Mode, str] = {
    "read-only": _TOLD["read-only"],
    "ask": "looking is free; nobody can be asked, so a call that may change something is refused",
    "edit": "files of the workspace may be changed freely; nobody can be asked, so anything else that changes things"
    " is refused",
    "full": "whatever stays inside the workspace runs; nobody can be asked, so a path that leads out of it is refused",
}


@plugin(name="told-permissions", requires=(Contexts, Permissions))
async def told_permissions(ctx: Context) -> AsyncIterator[None]:
    """Tells models which permission mode holds."""
    permissions = ctx[Permissions]

    def mode(log: Log, scope: Scope) -> str:
        told = _TOLD if Approver in scope else _TOLD_WITH_NOBODY
        return told[permissions.mode(scope)]

    ctx[Contexts].add_fact(Fact("permissions", mode), ctx)
    yield
