"""Every event, in order."""

from __future__ import annotations

import click

from everlog.cli.eventline import event_line
from everlog.session import Event, Log


def value(log: Log, at: int | None) -> list[Event]:
    """Give the events up to and with `at`, by their own bytes."""
    return list(log.events.between(0, log.next_seq if at is None else at + 1))


def tell(log: Log, at: int | None) -> None:
    """Write each event on a line."""
    for event in value(log, at):
        click.echo(event_line(event))
