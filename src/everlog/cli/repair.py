"""`everlog repair`: what a crash left open is closed, and what is sound of a damaged session is saved."""

from __future__ import annotations

import asyncio

import click

from everlog.cli.hints import hint
from everlog.cli.opened import find_id, stored
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.session.rules.checking import binding
from everlog.store.salvaging import Salvage
from everlog.store.seam import DurableSession
from everlog.store.store import Store

_SHOWN = 20


@declare("repair")
@session_argument
@click.option("--salvage", is_flag=True, help="Make a new session of what is sound of a damaged one.")
@json_option
@store_option
def command(session: str | None, last: bool, salvage: bool, as_json: bool, store: str | None) -> None:
    """Close what a crash left open, or salvage a damaged session.

    Opening a session to go on with it does the same. One that is damaged before its end is not touched: with
    --salvage, a new session is made of what is sound of it.
    """

    async def work() -> None:
        async with stored(store) as opened:
            id = await find_id(opened, session, last)
            await (_salvage if salvage else _repair)(opened, id, as_json)

    asyncio.run(work())


async def _repair(store: Store, id: str, as_json: bool) -> None:
    async with await store.open(id, "read") as before:
        stored_before = before.stored
    async with await store.open(id, "write") as session:
        await session.flush()
        if as_json:
            torn = None if session.torn is None else session.torn.kept_in
            write_json({"session": id, "closedBy": session.next_seq - stored_before, "setAside": torn})
        else:
            _tell(session, session.next_seq - stored_before)


def _tell(session: DurableSession, closers: int) -> None:
    if session.torn is not None:
        click.echo(one_line(str(session.torn)))
    if closers:
        click.echo(f"the turn that was left open was closed by {counted(closers, 'event')}")
    if session.torn is None and not closers:
        click.echo("nothing was to be repaired")


async def _is_sound(store: Store, id: str) -> bool:
    """Tell whether nothing of a session would be lost or mended: a copy of it would be the same log."""
    found = await store.verify(id)
    if not found.sound or binding(found.violations):
        return False
    async with await store.open(id, "read") as log:
        return not log.unknown_types


async def _salvage(store: Store, id: str, as_json: bool) -> None:
    if await _is_sound(store, id):
        if as_json:
            write_json({"session": None, "from": id, "kept": None, "mended": 0, "lost": []})
        else:
            click.echo(f"session {one_line(id)} is sound: there is nothing to salvage, and no copy was made")
        return
    found = await store.salvage(id)
    if as_json:
        lost = [{"seq": item.seq, "reason": item.reason} for item in found.lost]
        write_json({"session": found.session, "from": id, "kept": found.kept, "mended": found.mended, "lost": lost})
        return
    _tell_salvage(found)
    line = hint(f"everlog resume {found.session[:8]} …")
    click.echo(f"session {one_line(id)} is as it was; go on with: {line}")


def _tell_salvage(found: Salvage) -> None:
    click.echo(f"session {found.session} holds {counted(found.kept, 'event')} of it")
    for item in found.lost[:_SHOWN]:
        click.echo(f"  event {item.seq} was lost: {one_line(item.reason)}")
    if len(found.lost) > _SHOWN:
        click.echo(f"  and {len(found.lost) - _SHOWN} more")
    if found.mended:
        click.echo(f"{counted(found.mended, 'event')} stand in place of lost ones, so that the rest could be kept")
