"""A small MCP server made with the official SDK: a script that speaks on stdin and stdout, or over HTTP with `http`."""

from __future__ import annotations

import os
import socket
import sys

import uvicorn
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
def headers(context: Context) -> str:
    """Give the headers of the request."""
    return " ".join(f"{name}={value}" for name, value in (context.headers or {}).items())


@server.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


@server.tool()
async def grow(context: Context) -> str:
    """Get another tool."""

    def extra() -> str:
        """Be extra."""
        return "extra"

    server.add_tool(extra)
    await context.session.send_tool_list_changed()
    return "grown"


def serve_over_http() -> None:
    """Serve on a free port, and say which."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    if "http" in sys.argv:
        serve_over_http()
    else:
        server.run()
