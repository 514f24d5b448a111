"""What the children of the lab do: things with a store, which are the same each time for the same seed."""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from hashlib import sha256
from typing import Any

from tests.session.logs import Walk
from tests.session.stories import Story

from everlog import Session, open_store
from everlog.store import Store
from everlog.store.disk import Disk
from everlog.store.durable import DurableSession
from everlog.store.errors import WriteFailed
from everlog.store.jsonl import store_file
from everlog.store.jsonl.folders import Folders
from everlog.store.sqlite import schema
from everlog.store.urls import path_of

Promise = Callable[[str, int], None]
"""Called right after a promise was given: that a thing is done, up to an event."""

STEPS = 60
WINDOW = 0.002


def clock() -> Callable[[], int]:
    """Give the clock of every session of the lab."""
    return itertools.count(1_000, 7).__next__


def header_of(id: str) -> dict[str, Any]:
    """Give the header of a session of the lab."""
    return {"id": id, "createdAt": 1_000, "cwd": "/lab"}


def blob_of(id: str, step: int) -> bytes:
    """Give the blob that is put at a step."""
    return f"blob {step} of {id} ".encode() * 50


def puts_blob(step: int) -> bool:
    """Tell whether one is put there."""
    return step % 9 == 4


def take_step(walk: Walk, id: str, step: int) -> None:
    """Append what comes next."""
    walk.go()
    if puts_blob(step):
        name = sha256(blob_of(id, step)).hexdigest()
        walk.session.append_json("lab/blob", {"blob": name}, ignorable=True)


def expected(id: str, seed: int, steps: int = STEPS) -> list[bytes]:
    """Give the bytes of every event that a session of the lab would ever hold, in order."""
    session = Session.create(header_of(id), clock=clock())
    walk = Walk(Story(session), random.Random(seed).randrange)
    for step in range(steps):
        take_step(walk, id, step)
    return [event.to_json() for event in session.events]


async def live(url: str, id: str, seed: int, promise: Promise) -> None:
    """Run a session: append, flush now and then, keep checkpoints, put blobs, and close it."""
    await run_session(url, id, seed, promise, STEPS)


async def checkpoint(url: str, id: str, seed: int, promise: Promise) -> None:
    """Run a session that keeps a checkpoint at every step."""
    async with open_store(url, window=WINDOW) as store, await store.create(header_of(id), clock=clock()) as session:
        walk = Walk(Story(session), random.Random(seed).randrange)
        for step in range(STEPS):
            if puts_blob(step):
                session.blobs.put(blob_of(id, step))
            take_step(walk, id, step)
            session.keep_checkpoint()
            await until_flushed(session)
            promise("flush", session.next_seq)


async def briefly(url: str, id: str, seed: int, promise: Promise) -> None:
    """Run a short one."""
    await run_session(url, id, seed, promise, 10)


async def in_vain(url: str, id: str, seed: int, promise: Promise) -> None:
    """Run a short one on a disk that is not going to be well again; it waits for that only so long."""
    await run_session(url, id, seed, promise, 10, patience=0.5)


async def run_session(url: str, id: str, seed: int, promise: Promise, steps: int, patience: float = 60.0) -> None:
    """Run a session of so many steps."""
    manners = random.Random(seed + 1)
    async with open_store(url, window=WINDOW) as store:
        session = await store.create(header_of(id), clock=clock())
        walk = Walk(Story(session), random.Random(seed).randrange)
        for step in range(steps):
            if puts_blob(step):
                session.blobs.put(blob_of(id, step))
            take_step(walk, id, step)
            match manners.randrange(6):
                case 0 | 1:
                    await until_flushed(session, patience)
                    promise("flush", session.next_seq)
                case 2:
                    await asyncio.sleep(0.001)
                case 3:
                    session.keep_checkpoint()
                case _:
                    pass
        await until_flushed(session, patience)
        promise("flush", session.next_seq)
        await session.close()
        promise("closed", session.next_seq)


async def until_flushed(session: DurableSession, patience: float = 60.0) -> None:
    """Flush, and wait when that fails, as the loop does, but not for ever."""
    try:
        await session.flush()
    except WriteFailed:
        async with asyncio.timeout(patience):
            await session.when_durable()


async def made(store: Store, id: str, seed: int, steps: int = STEPS) -> None:
    """Make a whole session."""
    async with await store.create(header_of(id), clock=clock()) as session:
        walk = Walk(Story(session), random.Random(seed).randrange)
        for step in range(steps):
            if puts_blob(step):
                session.blobs.put(blob_of(id, step))
            take_step(walk, id, step)


async def prepare(url: str, id: str, seed: int) -> None:
    """Make the session that the other works begin with."""
    async with open_store(url, window=WINDOW) as store:
        await made(store, id, seed)


async def copy(url: str, id: str, seed: int, promise: Promise) -> None:
    """Copy a session here from a store of its own making."""
    async with open_store("memory:") as source, open_store(url) as target:
        await made(source, id, seed)
        await source.copy(id, target)
        promise("copied", len(expected(id, seed)))


async def fork(url: str, id: str, seed: int, promise: Promise) -> None:
    """Fork a session that is there, and go on in the fork."""
    async with open_store(url) as store:
        async with await store.fork(id, open_turn="close") as child:
            child.append_json("lab/done", {}, ignorable=True)
        promise("forked", child.next_seq)


async def salvage(url: str, id: str, seed: int, promise: Promise) -> None:
    """Salvage a session that is there."""
    async with open_store(url) as store:
        report = await store.salvage(id)
        promise("salvaged", report.kept)


async def collect(url: str, id: str, seed: int, promise: Promise) -> None:
    """Collect blobs that nothing names."""
    async with open_store(url) as store:
        for step in range(20):
            store.blobs.put(f"forgotten {step}".encode())
        async with await store.create() as session:
            await session.flush()
        await store.drop_blobs(await store.unnamed_blobs(young_ms=-1_000))
        promise("collected", 0)


async def throw_away(url: str, id: str, seed: int, promise: Promise) -> None:
    """Put a session into the trash and back, purge a fork of it, and fork it again."""
    async with open_store(url) as store:
        child = await store.fork(id, open_turn="close")
        await child.close()
        await store.delete(id)
        await store.restore(id)
        await store.purge(child.id)
        promise("purged", 0)


async def make(url: str, id: str, seed: int, promise: Promise) -> None:
    """Make a store."""
    async with open_store(url):
        promise("made", 0)


async def take_over(url: str, id: str, seed: int, promise: Promise) -> None:
    """Open a session for writing: a torn end is set aside, and an open turn closed."""
    async with open_store(url) as store, await store.open(id, "write") as session:
        await session.flush()
        promise("flush", session.next_seq)


async def migrate(url: str, id: str, seed: int, promise: Promise) -> None:
    """Bring a store to a version that there is not yet."""
    migrated(url)
    promise("migrated", 2)


def migrated(url: str) -> None:
    """Bring a store to version 2, whose sessions carry a mark."""
    if url.startswith("sqlite"):
        schema.prepare(path_of(url), [_mark_rows])
    else:
        store_file.prepare(Folders(path_of(url)), Disk(), [_mark_folders])


def _mark_rows(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE session ADD COLUMN mark TEXT")
    connection.execute("UPDATE session SET mark = 'migrated'")


def _mark_folders(places: Folders, disk: Disk) -> None:
    for name in places.names(places.sessions):
        disk.write_whole(places.sessions / name / "mark", b"migrated")


def marks(url: str) -> list[str]:
    """Give the marks of a migrated store's sessions; nothing for one that is not migrated."""
    path = path_of(url)
    if not url.startswith("sqlite"):
        return [mark.read_text() for mark in path.glob("sessions/*/mark")]
    with closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(session)")]
        found = connection.execute("SELECT mark FROM session") if "mark" in columns else ()
        return [mark for (mark,) in found]


WORKS: dict[str, Callable[[str, str, int, Promise], Awaitable[None]]] = {
    "live": live,
    "checkpoint": checkpoint,
    "briefly": briefly,
    "in_vain": in_vain,
    "copy": copy,
    "fork": fork,
    "salvage": salvage,
    "collect": collect,
    "throw_away": throw_away,
    "make": make,
    "take_over": take_over,
    "migrate": migrate,
}
