"""The session's own header, and the request header in force."""

from __future__ import annotations

import click

from everlog.cli.output import short_time, told_json
from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.payloads import RequestHeader


def value(log: Log, at: int | None) -> dict[str, object]:
    """Give both; the request header is null before the first."""
    return {"session": log.header, "request": log.project("header", at)}


def tell(log: Log, at: int | None) -> None:
    """Write both, a name and a value on each line."""
    click.secho("session", bold=True)
    for name, item in log.header.value().items():
        click.echo(f"  {one_line(name)}: {_told(name, item)}")
    click.secho("request", bold=True)
    header: RequestHeader | None = log.project("header", at)
    if header is None:
        click.echo("  none was made yet")
        return
    config = header.config if isinstance(header.config, dict) else {"config": header.config}
    for name, item in config.items():
        click.echo(f"  {one_line(name)}: {told_json(item)}")
    tools = header.tools if isinstance(header.tools, list) else []
    names = [str(tool.get("name")) for tool in tools if isinstance(tool, dict)]
    click.echo(f"  tools: {one_line(', '.join(names)) or 'none'}")


def _told(name: str, item: object) -> str:
    return short_time(item) if name == "createdAt" and isinstance(item, int) and item else told_json(item)
