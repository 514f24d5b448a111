"""`everlog mcp`: servers whose tools agents have, and sessions for other programs."""

from __future__ import annotations

import asyncio

import click

from everlog.cli.faults import UsageFault
from everlog.cli.opened import stored
from everlog.cli.options import Command, json_option, store_option
from everlog.cli.output import counted, write_json, write_table
from everlog.cli.plain import one_line
from everlog.cli.settings import load_config
from everlog.mcp.connection import Connection, require_sdk
from everlog.mcp.settings import Server, brought, servers


@click.group("mcp")
def command() -> None:
    """Use the tools of MCP servers, and serve sessions to MCP clients."""


@command.command("list", cls=Command)
@json_option
def list_servers(as_json: bool) -> None:
    """List the servers that are configured; nothing is started."""
    config = load_config()
    found, left = servers(config), brought(config)
    if as_json:
        write_json([{"name": name, "place": server.place, "started": True} for name, server in found.items()])
        return
    rows = [[name, "http" if server.url else "stdio", server.place] for name, server in found.items()]
    rows += [[name, "-", "named by the project's file only, and so not started"] for name in left]
    if rows:
        write_table(rows, ("SERVER", "BY", "WHAT"))
    else:
        click.echo("no MCP server is configured; name one under [mcp.servers.NAME] in your own everlog.toml")


@command.command("test", cls=Command)
@click.argument("name")
@json_option
def test_server(name: str, as_json: bool) -> int:
    """Start a server, and tell which tools it has."""
    found = servers(load_config())
    if name not in found:
        raise UsageFault(f"no MCP server {name} is configured; there are {', '.join(found) or 'none'}")
    require_sdk()
    tools, failure = asyncio.run(_tried(name, found[name]))
    if as_json:
        write_json({"name": name, "tools": tools, "failure": failure})
    elif failure is None:
        click.echo(f"{name} answers, with {counted(len(tools), 'tool')}:")
        for tool in tools:
            click.echo(f"  {one_line(tool)}")
    else:
        click.echo(f"{name} does not answer: {one_line(failure)}", err=True)
    return 0 if failure is None else 1


async def _tried(name: str, server: Server) -> tuple[list[str], str | None]:
    tools: list[str] = []
    connection = Connection(name, server, lambda found: tools.extend(str(one.name) for one in found))
    task = asyncio.create_task(connection.run())
    await connection.settled()
    failure = None if connection.is_up else connection.failure or "it took too long to start"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return tools, failure


@command.command("serve", cls=Command)
@store_option
def serve(store: str | None) -> None:
    """Serve the sessions of a store, read-only, to a client on stdin and stdout."""
    require_sdk()
    from everlog.mcp.serving import serve as served

    async def work() -> None:
        async with stored(store) as opened:
            await served(opened)

    asyncio.run(work())
