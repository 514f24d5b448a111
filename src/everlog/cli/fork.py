"""`everlog fork`: a new session that goes on from a point of another."""

from __future__ import annotations

import asyncio

import click

from everlog.cli.faults import NothingThere, UsageFault
from everlog.cli.hints import hint
from everlog.cli.opened import find_id, stored
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.payloads import TurnEnd

_FILES = "files are as they are now; a fork does not roll them back"


@declare("fork")
@session_argument
@click.option("--at", metavar="SEQ", type=click.IntRange(0), help="Take the events up to and with this one.")
@click.option("--turn", metavar="N", type=click.IntRange(1), help="Take everything up to the end of this turn.")
@click.option("--close-open-turn", is_flag=True, help="Close the turn that is open there; its calls count as unknown.")
@json_option
@store_option
def command(
    session: str | None,
    last: bool,
    at: int | None,
    turn: int | None,
    close_open_turn: bool,
    as_json: bool,
    store: str | None,
) -> None:
    """Make a new session that goes on from a point of another.

    Without --at or --turn, all events are taken. The other session is not touched. Files are not rolled back:
    the fork works in the same folder, on the files as they are now.
    """
    if at is not None and turn is not None:
        raise UsageFault("give --at or --turn, not both")

    async def work() -> None:
        async with stored(store) as opened:
            parent = await find_id(opened, session, last)
            seq = at
            if turn is not None:
                async with await opened.open(parent, "read") as log:
                    seq = _end_of(log, turn)
            async with await opened.fork(parent, seq, "close" if close_open_turn else "refuse") as child:
                await child.flush()
                _tell(child, parent, child.parent_running, as_json)

    asyncio.run(work())


def _end_of(log: Log, turn: int) -> int:
    """Give the seq of a turn's end. Raises NothingThere."""
    turns = [event for event in log.events if event.type == "turn/end" and isinstance(event.data, TurnEnd)]
    for event in turns:
        if isinstance(event.data, TurnEnd) and event.data.turn == turn:
            return event.seq
    raise NothingThere(f"--turn {turn}: the session has {counted(len(turns), 'turn')} that ended")


def _tell(child: Log, parent: str, running: bool, as_json: bool) -> None:
    header = child.header
    if as_json:
        facts = {"id": child.id, "parent": parent, "inheritedEvents": header.inherited_events, "events": child.next_seq}
        write_json({**facts, "parentRunning": running, "cwd": header.cwd, "filesRolledBack": False})
        return
    click.echo(
        f"session {child.id} holds the first {counted(header.inherited_events or 0, 'event')} of {one_line(parent)}"
    )
    if running:
        click.echo("the other session runs now: what it had stored was taken")
    click.echo(f"{_FILES}{f' ({one_line(header.cwd)})' if header.cwd else ''}")
    line = hint(f'everlog resume {child.id[:8]} "…"')
    click.echo(f"go on with: {line}")
