"""A small MCP server that can misbehave: run as a script, it speaks on stdin and stdout, or over HTTP with a port."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("peer", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it failed on purpose")


@server.tool()
def picture() -> Image:
    """Give a picture."""
    return Image(data=b"\x89PNG\r\n\x1a\nnot really", format="png")


@server.tool()
def environment() -> str:
    """Give the names of all variables."""
    return " ".join(os.environ)


@server.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


@server.tool()
async def hang() -> str:
    """Answer never."""
    await asyncio.sleep(3600)
    return ""


@server.tool()
async def grow(context: Context) -> str:
    """Get another tool."""

    def extra() -> str:
        """Be extra."""
        return "extra"

    server.add_tool(extra)
    await context.session.send_tool_list_changed()
    return "grown"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
