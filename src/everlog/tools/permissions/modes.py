"""The modes: what a call may do that no rule speaks of."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from everlog.tools.hooks import Allow, Ask, Decision, Deny, ToolUse
from everlog.tools.permissions.workspace import Place
from everlog.tools.seam import Tool

Mode: TypeAlias = Literal["read-only", "ask", "edit", "full"]
"""From the strictest to the freest.

- `read-only`: only tools that change nothing; the others are refused.
- `ask`: a person is asked before anything is changed. The default.
- `edit`: files inside the workspace are changed freely; everything else is asked about.
- `full`: everything inside the workspace, and every command, runs unasked.

In each of them a path that leads out of the workspace is asked about, and in all but `full` an address that
leads out of this machine is.
"""

MODES: tuple[Mode, ...] = get_args(Mode)


def stricter(one: Mode, other: Mode) -> Mode:
    """Give the stricter of two modes."""
    return min(one, other, key=MODES.index)


def by_mode(use: ToolUse, places: list[Place], mode: Mode) -> Decision:
    """Decide on a call that no rule speaks of."""
    tool = use.tool
    if tool.by_parts:
        return Allow()
    outside = [place for place in places if not place.inside]
    if mode == "read-only" and tool.effects != "read-only":
        return Deny(f"the mode is read-only, and {tool.name} may change things")
    if outside:
        return Ask(f"{outside[0].shown} is outside of the workspace", _always(use, outside))
    if mode == "full":
        return Allow()
    if tool.network:
        return Ask(f"{tool.name} reaches out of this machine", _always(use, places))
    if tool.effects == "read-only":
        return Allow()
    guarded = [place for place in places if place.guarded]
    if guarded:
        return Ask(f"{guarded[0].shown} belongs to Git, and may name commands that Git runs")
    if mode == "edit" and _is_edit(tool, places):
        return Allow()
    return Ask(f"the mode is {mode}, and {tool.name} may change things", _always(use, places))


def _is_edit(tool: Tool, places: list[Place]) -> bool:
    """Tell whether all that a call changes is files that it names."""
    return bool(places) and tool.subject is None


def _always(use: ToolUse, places: list[Place]) -> str | None:
    """Give the rule that "always" adds: the very subject, or for files of the workspace all of them."""
    if len(places) > 1:
        return None
    if places:
        pattern = "*" if places[0].inside else escaped(places[0].subject)
    else:
        pattern = escaped(use.subject) if use.tool.subject else "*"
    return f"{use.tool.name}({pattern})"


def escaped(text: str) -> str:
    """Give a pattern that matches a text and nothing else."""
    return text.replace("\\", "\\\\").replace("*", "\\*")
