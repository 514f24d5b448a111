"""The title."""

from __future__ import annotations

import click

from everlog.cli.plain import one_line
from everlog.session import Log


def value(log: Log, at: int | None) -> str | None:
    """Give the title; null when there is none."""
    found: str | None = log.project("title", at)
    return found


def tell(log: Log, at: int | None) -> None:
    """Write it on a line."""
    click.echo(one_line(value(log, at) or "no title"))
