"""What each step did: the model, the tools offered, each call and its outcome, how it ended."""

from __future__ import annotations

import click

from everlog.cli.output import counted
from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.projections.steps import Call, Step

_COLOURS = {"answered": "green", "failed": "red", "refused": "red", "unknown": "yellow", "not started": "yellow"}


def value(log: Log, at: int | None) -> list[Step]:
    """Give the steps in order."""
    return list(log.project("steps", at))


def tell(log: Log, at: int | None) -> None:
    """Write each step with its calls under it."""
    for step in value(log, at):
        route = f"{step.provider}/{step.model}" if step.provider else "no model"
        offered = counted(len(step.tools), "tool")
        failure = f" ({one_line(step.failure)})" if step.failure else ""
        tries = f"  {counted(step.attempts, 'attempt')}" if step.attempts != 1 else ""
        head = click.style(f"step {step.turn}.{step.step}", bold=True)
        click.echo(f"{head}  {one_line(route)}  {offered} offered{tries}  {step.ended}{failure}")
        for call in step.calls:
            click.echo(_told_call(call))


def _told_call(call: Call) -> str:
    outcome = click.style(call.outcome, fg=_COLOURS.get(call.outcome))
    code = f" {one_line(call.code)}" if call.code else ""
    seqs = "→".join(str(seq) for seq in (call.call_seq, call.result_seq) if seq is not None)
    return f"  ● {one_line(call.name or 'unknown tool')}  {outcome}{code}  {seqs}"
