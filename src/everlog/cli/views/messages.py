"""What the model sees."""

from __future__ import annotations

import click

from everlog.cli.output import write_block
from everlog.cli.telling import told_text
from everlog.session import Log, Message


def value(log: Log, at: int | None) -> list[Message]:
    """Give the messages, by their own bytes."""
    return list(log.project("messages", at))


def tell(log: Log, at: int | None) -> None:
    """Write each message in full under its role."""
    for message in value(log, at):
        click.echo(click.style(message.role, bold=True))
        write_block(told_text(message.content), "  ")
