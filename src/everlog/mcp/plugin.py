"""The plugin: has the configured servers run, and offers their tools."""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import AsyncIterator, Mapping, Sequence

from everlog.kernel import Context, Registration, plugin
from everlog.mcp.connection import Connection
from everlog.mcp.offering import tools_of
from everlog.mcp.settings import Server, require_sdk, servers
from everlog.session.jsonvalue import JSON
from everlog.tools.seam import Tools


class McpServers(ABC, Mapping[str, "Running"]):
    """The service: the servers that run, by name."""


class _All(dict[str, "Running"], McpServers):
    pass


class Running:
    """One server, and the tools of it that are offered now."""

    def __init__(self, ctx: Context, name: str, server: Server) -> None:
        self.connection = Connection(name, server, self._put)
        self.tools: list[str] = []
        """The names that models call them by."""
        self._ctx = ctx
        self._offered: list[Registration] = []

    def _put(self, found: Sequence[JSON]) -> None:
        """Offer these tools, and no others any more."""
        for registration in self._offered:
            registration.undo()
        tools = [] if self._ctx.closed else tools_of(self.connection, found)
        self._offered = [self._ctx[Tools].add(tool, self._ctx) for tool in tools]
        self.tools = [tool.name for tool in tools]


@plugin(requires=(Tools,), provides=(McpServers,))
async def mcp(ctx: Context) -> AsyncIterator[None]:
    """Offers the tools of MCP servers."""
    running = _All({name: Running(ctx, name, server) for name, server in servers(ctx.config).items()})
    ctx.provide(McpServers, running)
    if running:
        require_sdk()
    connections = [one.connection for one in running.values()]
    for connection in connections:
        connection.begin()
    try:
        await asyncio.gather(*(connection.settled() for connection in connections))
        yield
    finally:
        await asyncio.gather(*(connection.end() for connection in connections))
