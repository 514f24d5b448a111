"""When everything began, and how long it took."""

from __future__ import annotations

import click

from everlog.cli.output import short_time
from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.projections.timeline import Span, TurnSpan


def value(log: Log, at: int | None) -> list[TurnSpan]:
    """Give the turns with their steps, attempts and calls; times in milliseconds since the epoch."""
    return list(log.project("timeline", at))


def tell(log: Log, at: int | None) -> None:
    """Write the tree of spans."""
    for turn in value(log, at):
        head = click.style(f"turn {turn.turn}", bold=True)
        click.echo(f"{head}  {short_time(turn.start)}  {_lasted(turn)}  {one_line(turn.reason or 'open')}")
        for step in turn.steps:
            click.echo(f"  step {step.step}  {_lasted(step)}")
            for attempt in step.attempts:
                click.echo(f"    attempt {attempt.attempt}  {_lasted(attempt)}")
            for call in step.tools:
                click.echo(f"    ● {one_line(call.name or 'unknown tool')}  {_lasted(call)}")


def _lasted(span: Span) -> str:
    if span.start is None or span.end is None:
        return "?" if span.start is None else "not ended"
    return f"{(span.end - span.start) / 1000:,.2f} s"
