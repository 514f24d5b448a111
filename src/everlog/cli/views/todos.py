"""The to-do list."""

from __future__ import annotations

import click

from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.payloads import Todo


def value(log: Log, at: int | None) -> list[Todo]:
    """Give the entries in order."""
    return list(log.project("todos", at))


def tell(log: Log, at: int | None) -> None:
    """Write each entry on a line."""
    found = value(log, at)
    if not found:
        click.echo("no to-do list")
    for todo in found:
        click.echo(f"{one_line(todo.status):<12} {one_line(todo.content)}")
