"""What a person is being asked, and what was allowed for good."""

from __future__ import annotations

import click

from everlog.cli.output import told_json
from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.projections.approvals import Approvals


def value(log: Log, at: int | None) -> dict[str, object]:
    """Give the asks that wait and the rules that stand."""
    found: Approvals = log.project("approvals", at)
    pending = [{"seq": ask.seq, "asked": ask.asked} for ask in found.pending]
    return {"pending": pending, "standing": list(found.standing)}


def tell(log: Log, at: int | None) -> None:
    """Write each on a line."""
    found: Approvals = log.project("approvals", at)
    for ask in found.pending:
        click.echo(f"asked at {ask.seq}: {one_line(ask.asked.tool_name)} {one_line(ask.asked.reason or '')}")
    for rule in found.standing:
        click.echo(f"always: {told_json(rule)}")
    if not found.pending and not found.standing:
        click.echo("nothing is asked, and nothing was allowed for good")
