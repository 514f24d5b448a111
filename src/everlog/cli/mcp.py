"""`everlog mcp`: servers whose tools agents have, and sessions for other programs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from everlog.cli.exits import FAILED, OK
from everlog.cli.faults import UsageFault
from everlog.cli.logs import set_up_logs
from everlog.cli.opened import stored
from everlog.cli.options import Command, json_option, store_option
from everlog.cli.output import counted, write_json, write_table
from everlog.cli.plain import one_line
from everlog.cli.settings import load_config
from everlog.mcp.connection import Connection
from everlog.mcp.offering import tools_of
from everlog.mcp.settings import Server, brought, require_sdk, servers
from everlog.session.jsonvalue import JSON
from everlog.tools.seam import Tool


@click.group("mcp")
def command() -> None:
    """Use the tools of MCP servers, and serve sessions to MCP clients."""


@command.command("list", cls=Command)
@json_option
def list_servers(as_json: bool) -> None:
    """List the servers that are configured. Starts none."""
    config = load_config()
    found, left = servers(config), brought(config)
    rows = [{"name": name, "by": _by(server), "place": server.place, "used": True} for name, server in found.items()]
    rows += [{"name": name, "by": None, "place": None, "used": False} for name in left]
    if as_json:
        write_json(rows)
    elif rows:
        why = "named by the project's file only, and so not started: name it in your own to use it"
        cells = [[str(row["name"]), str(row["by"] or "-"), str(row["place"] or why)] for row in rows]
        write_table(cells, ("SERVER", "BY", "WHAT"))
    else:
        click.echo("no MCP server is configured; name one under [mcp.servers.NAME] in your own everlog.toml")


def _by(server: Server) -> str:
    return "http" if server.url else "stdio"


@command.command("test", cls=Command)
@click.argument("name")
@json_option
def test_server(name: str, as_json: bool) -> int:
    """Start the server NAME, and tell which tools it has.

    The exit code is 1 when it does not answer.
    """
    set_up_logs()
    found = servers(load_config())
    if name not in found:
        raise UsageFault(f"no MCP server {name} is configured; there are: {', '.join(found) or 'none'}")
    require_sdk()
    tools, failure = asyncio.run(_tried(name, found[name]))
    if as_json:
        told = [{"name": tool.name, "description": tool.description, "effects": tool.effects} for tool in tools]
        write_json({"name": name, "tools": told, "failure": failure})
    elif failure is None:
        click.echo(f"{one_line(name)} answers, with {counted(len(tools), 'tool')}:")
        for tool in tools:
            click.echo(f"  {one_line(tool.name)}  ({tool.effects})  {one_line(tool.description, 80)}")
    else:
        click.echo(f"{one_line(name)} does not answer: {one_line(failure)}", err=True)
    return OK if failure is None else FAILED


async def _tried(name: str, server: Server) -> tuple[list[Tool], str | None]:
    """Give a server's tools, or why it has none."""
    tools: list[Tool] = []

    def keep(found: Sequence[JSON]) -> None:
        tools.extend(tools_of(connection, found))

    connection = Connection(name, server, keep)
    connection.begin()
    try:
        await connection.settled()
        return tools, None if connection.is_up else connection.failure or "it took too long to start"
    finally:
        await connection.end()


@command.command("serve", cls=Command)
@store_option
def serve(store: str | None) -> None:
    """Serve the sessions of a store, read-only, to a client on stdin and stdout."""
    set_up_logs()
    require_sdk()
    from everlog.mcp.serving import serve as served

    async def work() -> None:
        async with stored(store) as opened:
            await served(opened)

    asyncio.run(work())
