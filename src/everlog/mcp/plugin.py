"""The plugin: has the configured servers run, and offers their tools."""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from everlog.kernel import Context, Registration, plugin
from everlog.mcp.connection import Connection, require_sdk
from everlog.mcp.offering import tool_of
from everlog.mcp.settings import servers
from everlog.tools.seam import Tools


class McpServers(ABC, Mapping[str, Connection]):
    """The service: the servers that run, by name."""


class _Running(dict[str, Connection], McpServers):
    pass


class Shelf:
    """The tools of one server that are offered now."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._offered: list[Registration] = []
        self.connection: Connection | None = None
        self.names: list[str] = []

    def put(self, found: Sequence[Any]) -> None:
        """Offer these tools, and no others any more."""
        for registration in self._offered:
            registration.undo()
        assert self.connection is not None
        tools = [] if self._ctx.closed else [tool_of(self.connection, one) for one in found]
        self._offered = [self._ctx[Tools].add(tool, self._ctx) for tool in tools]
        self.names = [tool.name for tool in tools]


@plugin(requires=(Tools,), provides=(McpServers,))
async def mcp(ctx: Context) -> AsyncIterator[None]:
    """Offers the tools of MCP servers."""
    running = _Running()
    ctx.provide(McpServers, running)
    wanted = servers(ctx.config)
    if wanted:
        require_sdk()
    tasks = []
    for name, server in wanted.items():
        shelf = Shelf(ctx)
        shelf.connection = running[name] = Connection(name, server, shelf.put)
        tasks.append(asyncio.create_task(running[name].run(), name=f"mcp {name}"))
    await asyncio.gather(*(one.settled() for one in running.values()))
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
