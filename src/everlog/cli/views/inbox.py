"""The input that waits."""

from __future__ import annotations

import click

from everlog.cli.plain import one_line
from everlog.cli.telling import told_text
from everlog.session import Log


def value(log: Log, at: int | None) -> list[dict[str, object]]:
    """Give what is pending, for the next step first."""
    return [
        {"target": item.target, "seq": item.seq, "wakes": item.wakes, "message": item.message}
        for item in log.project("inbox", at)
    ]


def tell(log: Log, at: int | None) -> None:
    """Write each pending input on a line."""
    found = list(log.project("inbox", at))
    if not found:
        click.echo("nothing waits")
    for item in found:
        click.echo(f"{item.seq:>6}  {item.target}  {one_line(told_text(item.message.content))}")
