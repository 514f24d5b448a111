"""A small MCP server made with the official SDK: a script that speaks on stdin and stdout, or over HTTP with a port."""

from __future__ import annotations

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
def headers(context: Context) -> str:
    """Give the headers of the request."""
    return " ".join(f"{name}={value}" for name, value in (context.headers or {}).items())


@server.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
