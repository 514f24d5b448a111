"""What the models said, token by token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from everlog.cli.output import told_json
from everlog.cli.plain import harmless
from everlog.session import Log
from everlog.session.projections.stream import Moment, Stream


def value(log: Log, at: int | None) -> list[dict[str, object]]:
    """Give each delta with its place and the pause before it in milliseconds."""
    stream: Stream = log.project("stream", at)
    return [_value(moment) for moment in stream]


def _value(moment: Moment) -> dict[str, object]:
    delta = msgspec.structs.asdict(moment.delta)
    step = f"{moment.turn}.{moment.step}.{moment.attempt}"
    return {"seq": moment.seq, "step": step, "pauseMs": moment.pause, **delta}


def tell(log: Log, at: int | None) -> None:
    """Write each delta on a line; a text is quoted, so that its white space is seen."""
    stream: Stream = log.project("stream", at)
    for moment in stream:
        delta = moment.delta
        said = repr(delta.text) if delta.text else _told(delta.record or {})
        step = f"{moment.turn}.{moment.step}.{moment.attempt}"
        click.echo(f"{moment.seq:>6}  {step}  +{moment.pause} ms  {delta.kind}  {harmless(said)}")


def _told(record: Mapping[str, Any]) -> str:
    """Give what a delta without text says, without what the line tells already."""
    return ", ".join(f"{name}: {told_json(value)}" for name, value in record.items() if name not in ("kind", "t0"))
