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
    for todo in value(log, at):
        click.echo(f"{one_line(todo.status):<12} {one_line(todo.content)}")
