"""The plugins of this room: the service with its permissions, and the tools that ship."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from everlog.kernel import ConfigError, Context, plugin
from everlog.llm.seam import key_variables
from everlog.tools.addresses import WebAccess, web_settings
from everlog.tools.environment import Surroundings, secrets_of
from everlog.tools.hooks import ALWAYS, POLICY
from everlog.tools.jobs import Jobs
from everlog.tools.permissions.keeping import keep, own_file
from everlog.tools.permissions.policy import Permissions
from everlog.tools.permissions.settings import rules_from
from everlog.tools.processes import keep_private
from everlog.tools.registry import ToolRegistry
from everlog.tools.sandbox import Sandbox, sandbox_settings
from everlog.tools.seam import Tools

_log = logging.getLogger("everlog.tools")


@plugin(name="tools", provides=(Tools, Permissions))
async def tools(ctx: Context) -> AsyncIterator[None]:
    """Holds the tools, permits their calls, and runs them."""
    rules = rules_from(ctx.config)
    permissions = Permissions(rules, ctx)
    ctx.provide(Permissions, permissions)
    ctx.provide(
        Tools, ToolRegistry(ctx, surroundings=Surroundings(keep=rules.keep_env, named=key_variables(ctx.config)))
    )
    ctx.on(POLICY, permissions.decide)

    def keep_for_good(rule: str) -> None:
        permissions.remember(rule)
        try:
            keep(rule, own_file(ctx.config))
        except ConfigError as error:
            _log.warning("%s", error)

    ctx.on(ALWAYS, keep_for_good)
    yield


@plugin(name="builtin-tools", requires=(Tools,), provides=(Jobs, Sandbox, WebAccess))
async def builtin_tools(ctx: Context) -> AsyncIterator[None]:
    """Read, write, edit, search, run commands, fetch pages, ask, keep a list."""
    from everlog.tools.builtin import BUILTIN

    if secrets_of(named=key_variables(ctx.config)):
        ctx.at_end(keep_private())
    jobs = Jobs()
    ctx.provide(Jobs, jobs)
    ctx.provide(Sandbox, Sandbox(sandbox_settings(ctx.config)))
    ctx.provide(WebAccess, WebAccess(web_settings(ctx.config)))
    for one in BUILTIN:
        ctx[Tools].add(one, ctx)
    yield
    await jobs.close_all()
