"""`everlog diff`: where two sessions part, and what each has after."""

from __future__ import annotations

import asyncio
from itertools import takewhile

import click

from everlog.cli.eventline import event_line
from everlog.cli.opened import find_id, stored
from everlog.cli.options import declare, json_option, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.session import Event, Log


@declare("diff")
@click.argument("a")
@click.argument("b")
@json_option
@store_option
def command(a: str, b: str, as_json: bool, store: str | None) -> None:
    """Show where two sessions part, and what each has after.

    Events are the same when all but their times is. A fork and its parent part where the fork was taken.
    """

    async def work() -> None:
        async with (
            stored(store) as opened,
            await opened.open(await find_id(opened, a, False), "read") as one,
            await opened.open(await find_id(opened, b, False), "read") as other,
        ):
            common = shared_events(one, other)
            (_write if as_json else _tell)(one, other, common)

    asyncio.run(work())


def shared_events(one: Log, other: Log) -> int:
    """Give how many leading events two logs have in common."""
    pairs = zip(one.events, other.events, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _same(*pair), pairs))


def _same(one: Event, other: Event) -> bool:
    if (one.type, one.surface_op, one.source_event_seqs) != (other.type, other.surface_op, other.source_event_seqs):
        return False
    return one.data_json == other.data_json


def _write(one: Log, other: Log, common: int) -> None:
    after = [{"id": log.id, "after": list(log.events.between(common, log.next_seq))} for log in (one, other)]
    write_json({"common": common, "a": after[0], "b": after[1]})


def _tell(one: Log, other: Log, common: int) -> None:
    click.echo(f"the first {counted(common, 'event')} are the same")
    for mark, colour, log in (("-", "red", one), ("+", "green", other)):
        rest = log.next_seq - common
        click.secho(f"{mark} {one_line(log.id)}: {counted(rest, 'event')} after", bold=True)
        for event in log.events.between(common, log.next_seq):
            click.secho(f"{mark} {event_line(event, 160)}", fg=colour)
