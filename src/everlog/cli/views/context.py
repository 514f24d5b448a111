"""The capacity of the route in force."""

from __future__ import annotations

import click

from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.payloads import RequestContext


def value(log: Log, at: int | None) -> RequestContext | None:
    """Give provider, model and context window in tokens; null before the first request."""
    found: RequestContext | None = log.project("context", at)
    return found


def tell(log: Log, at: int | None) -> None:
    """Write it on a line."""
    found = value(log, at)
    if found is None:
        click.echo("no request was made yet")
        return
    window = f"{found.context_window:,} tokens" if found.context_window is not None else "unknown"
    click.echo(f"{one_line(found.provider)}/{one_line(found.model)}  context window {window}")
