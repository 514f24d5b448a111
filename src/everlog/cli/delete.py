"""`everlog delete`: sessions go into the trash, come back from there, or go for good."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import click

from everlog.cli.faults import NothingThere, UsageFault
from everlog.cli.hints import hint
from everlog.cli.opened import AmbiguousSession, SessionNotFound, every, find_id, is_there, stored
from everlog.cli.options import declare, json_option, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.session.jsonvalue import scrub
from everlog.store.store import Store

_UNDONE_AT_ONCE = 20
"""So many ids stand in the line that undoes; of more, `everlog delete --trash --undo` brings all back."""
_DAY_MS = 24 * 60 * 60 * 1000


@declare("delete")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--undo", is_flag=True, help="Bring them back from the trash.")
@click.option("--purge", is_flag=True, help="Remove them for good, in the trash or not.")
@click.option("--older-than", metavar="DAYS", type=click.FloatRange(0), help="Those not used for so many days.")
@click.option("--trash", is_flag=True, help="All that are in the trash; with --purge, it is emptied.")
@click.option("--yes", is_flag=True, help="Do not ask before anything is removed for good.")
@json_option
@store_option
def command(
    sessions: tuple[str, ...],
    undo: bool,
    purge: bool,
    older_than: float | None,
    trash: bool,
    yes: bool,
    as_json: bool,
    store: str | None,
) -> None:
    """Put sessions into the trash.

    What is in the trash can be brought back with --undo. With --purge, sessions go for good; forks of them keep
    what they share. A session that somebody writes is never deleted.
    """
    if undo and purge:
        raise UsageFault("give --undo or --purge, not both")
    if sum((bool(sessions), older_than is not None, trash)) != 1:
        raise UsageFault("name the sessions, or give --older-than DAYS, or --trash")
    if trash and not (undo or purge):
        raise UsageFault("--trash goes with --undo or --purge; what is in the trash is deleted already")
    asyncio.run(_delete(store, sessions, older_than, trash, undo, purge, yes, as_json))


async def _delete(
    url: str | None,
    sessions: tuple[str, ...],
    older_than: float | None,
    trash: bool,
    undo: bool,
    purge: bool,
    yes: bool,
    as_json: bool,
) -> None:
    async with stored(url) as store:
        ids = [id async for id in _chosen(store, sessions, older_than, trash or undo)]
        if purge and ids:
            _confirm(ids, yes)
        deed = store.restore if undo else store.purge if purge else store.delete
        for id in ids:
            await deed(id)
    what = "restored" if undo else "purged" if purge else "trashed"
    if as_json:
        write_json({what: ids})
    else:
        _tell(ids, what)


async def _chosen(
    store: Store, sessions: tuple[str, ...], older_than: float | None, trashed: bool
) -> AsyncIterator[str]:
    """Give the ids that were meant; a trashed session is found by the beginning of its id too."""
    if older_than is not None:
        oldest = time.time() * 1000 - older_than * _DAY_MS
        async for summary in every(store, trashed):
            if summary.updated_at < oldest and summary.holder is None:
                yield summary.id
        return
    if not sessions:
        async for summary in every(store, trashed):
            yield summary.id
    for given in sessions:
        yield await _one(store, given, trashed)


async def _one(store: Store, given: str, trashed: bool) -> str:
    if not trashed:
        return await find_id(store, given, False)
    if not given or scrub(given) != given:
        raise SessionNotFound(given)
    found = [summary.id async for summary in every(store, True) if summary.id.startswith(given)]
    if given not in found and len(found) > 1:
        raise AmbiguousSession(given, found, trashed=True)
    if not found and await is_there(store, id := await find_id(store, given, False)):
        raise NothingThere(f"session {id} is not in the trash, so there is nothing to undo")
    return found[0] if found and given not in found else given


def _confirm(ids: list[str], yes: bool) -> None:
    """Ask before anything goes for good. Raises UsageFault where nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageFault("--purge removes for good; say --yes when nobody can be asked")
    click.confirm(f"Remove {counted(len(ids), 'session')} for good?", abort=True)


def _tell(ids: list[str], what: str) -> None:
    if not ids:
        click.echo("there were none")
    for id in ids:
        click.echo(f"{what} {one_line(id)}")
    if ids and what == "trashed":
        line = hint(f"everlog delete --undo {' '.join(ids[:_UNDONE_AT_ONCE])}")
        click.echo(f"bring {'it' if len(ids) == 1 else 'them'} back with: {one_line(line)}")
