"""The plugins of this room: the service, and the tools that ship."""

from __future__ import annotations

from collections.abc import AsyncIterator

from everlog.kernel import Context, plugin
from everlog.tools.registry import ToolRegistry
from everlog.tools.seam import Tools


@plugin(name="tools", provides=(Tools,))
async def tools(ctx: Context) -> AsyncIterator[None]:
    """Holds the tools and runs their calls."""
    ctx.provide(Tools, ToolRegistry(ctx))
    yield


@plugin(name="builtin-tools", requires=(Tools,))
async def builtin_tools(ctx: Context) -> AsyncIterator[None]:
    """Read, write, edit, glob, grep, bash, todo_write."""
    from everlog.tools.builtin import BUILTIN

    for one in BUILTIN:
        ctx[Tools].add(one, ctx)
    yield
