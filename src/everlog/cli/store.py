"""`everlog store`: copies between stores, and the upkeep of one."""

from __future__ import annotations

import asyncio
from functools import partial

import click

from everlog.cli.exits import FAILED, OK
from everlog.cli.faults import UsageFault
from everlog.cli.hints import hinted, remember
from everlog.cli.logs import set_up_logs
from everlog.cli.opened import every, find_id, stored
from everlog.cli.options import Command, json_option, store_option
from everlog.cli.output import counted, short_time, write_json, write_table
from everlog.cli.plain import error_line, one_line
from everlog.cli.progress import ProgressLine
from everlog.errors import EverlogError
from everlog.store.copying import Copied
from everlog.store.errors import SessionNotFound
from everlog.store.store import Store, open_store
from everlog.store.urls import path_of, scheme_of


@click.group("store", no_args_is_help=False)
def command() -> None:
    """Copy, check and tidy the stores of sessions."""


@command.command("copy", cls=Command, short_help="Copy sessions from one store to another.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--session", "sessions", multiple=True, metavar="SESSION", help="Only this one; may be given again.")
@json_option
def copy(source: str, target: str, sessions: tuple[str, ...], as_json: bool) -> int:
    """Copy sessions from one store to another, with the same ids and the same bytes.

    FROM and TO are URLs. The copies keep the time of their last use; what lies in the trash is copied into the trash.
    What is there already is not copied again: after an interruption, say the same again.
    """
    remember(source)
    return asyncio.run(_copy(source, target, sessions, as_json))


async def _copy(source: str, target: str, sessions: tuple[str, ...], as_json: bool) -> int:
    set_up_logs()
    if _same_place(source, target):
        raise UsageFault(f"{target} is the store that is copied from; name another one to copy to")
    copied: dict[str, Copied] = {}
    failed: dict[str, str] = {}
    async with stored(source) as origin, open_store(target) as other:
        ids = [await find_id(origin, given, False) for given in sessions] if sessions else await _in_order(origin)
        with ProgressLine() as line:
            for at, id in enumerate(ids, 1):
                progress = partial(line.tell, f"session {at} of {len(ids)}: event")
                try:
                    done = await origin.copy(id, other, progress)
                    copied.setdefault(id, done)
                except (EverlogError, OSError) as error:
                    in_trash = isinstance(error, SessionNotFound) and error.trashed
                    failed[id] = hinted(str(error), target if in_trash else source)
    if as_json:
        write_json({"copied": list(copied.values()), "failed": failed})
    else:
        written = sum(item.written for item in copied.values())
        trashed = sum(item.trashed for item in copied.values())
        what = f"{counted(len(copied), 'session')} copied" + (f", {trashed} of them into the trash" if trashed else "")
        click.echo(f"{what}; {counted(written, 'event')} were new there")
        for id, why in failed.items():
            click.echo(f"not copied: {one_line(id)}: {error_line(why)}", err=True)
    return FAILED if failed else OK


def _same_place(source: str, target: str) -> bool:
    """Tell whether two URLs name one store: copying it onto itself would only count as use of its sessions."""
    if source == target:
        return True
    kind = scheme_of(source)
    if kind not in ("sqlite", "jsonl") or scheme_of(target) != kind:
        return False
    return path_of(source).resolve() == path_of(target).resolve()


async def _in_order(store: Store) -> list[str]:
    """Give all ids in the order of their last use, that the copies stand in it too, but no fork before its parent.

    So the copies can share what they have in common. A parent that was used after its fork is given once more, in its
    own place.
    """
    found = [summary async for summary in every(store, trashed=True)] + [summary async for summary in every(store)]
    found.sort(key=lambda summary: summary.updated_at, reverse=True)  # of those of one moment the order stays
    parents = {summary.id: summary.parent_session for summary in reversed(found)}
    ordered: list[str] = []
    given: set[str] = set()
    for id in parents:
        line = [id]
        while (at := parents[line[-1]]) is not None and at in parents and at not in given and at not in line:
            line.append(at)
        ordered += reversed(line)
        given.update(line)
    return ordered


@command.command("check", cls=Command, short_help="Check every session, every blob, and what holds them.")
@json_option
@store_option
def check(as_json: bool, store: str | None) -> int:
    """Check a whole store: every session and its chain, every blob, and what holds them."""
    return asyncio.run(_check(store, as_json))


async def _check(url: str | None, as_json: bool) -> int:
    async with stored(url) as store:
        with ProgressLine() as line:
            found = await store.check(lambda done, of: line.tell("session", done, of))
    if as_json:
        write_json({"sessions": found.sessions, "events": found.events, "blobs": found.blobs, "faults": found.faults})
    else:
        for fault in found.faults:
            click.echo(one_line(fault))
        what = (counted(found.sessions, "session"), counted(found.events, "event"), counted(found.blobs, "blob"))
        click.echo(f"{', '.join(what)}: {counted(len(found.faults), 'fault') if found.faults else 'all is well'}")
    return FAILED if found.faults else OK


@command.command("gc", cls=Command, short_help="Show, or remove, the blobs that nothing names.")
@click.option("--remove", is_flag=True, help="Remove what is shown. Without it, nothing is changed.")
@json_option
@store_option
def collect(remove: bool, as_json: bool, store: str | None) -> None:
    """Show the blobs that no session, fork or trashed session names; with --remove, remove them.

    Blobs that were put within the last hour are kept: their event may not be stored yet.
    """
    asyncio.run(_collect(store, remove, as_json))


async def _collect(url: str | None, remove: bool, as_json: bool) -> None:
    async with stored(url) as store:
        unnamed = await store.unnamed_blobs()
        if remove:
            await store.drop_blobs(unnamed)
    if as_json:
        write_json({"blobs": unnamed, "removed": remove})
        return
    if unnamed:
        rows = [[blob.hash[:16], f"{blob.size:,}", short_time(blob.put_at)] for blob in unnamed]
        write_table(rows, ("BLOB", "BYTES", "PUT"))
    size = sum(blob.size for blob in unnamed)
    deed = "were removed" if remove else "could be removed (--remove does)"
    click.echo(
        f"{counted(len(unnamed), 'blob')} with {counted(size, 'byte')} {deed}" if unnamed else "nothing to remove"
    )
