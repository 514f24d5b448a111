"""Processes that want the same thing at the same time. Each is forked from a server that has everything imported."""

from __future__ import annotations

import asyncio
import multiprocessing
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from tests.session.stories import Story, plain_turn

from everlog import SessionBusy, open_store

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.store.lab.rivals", "everlog.store.sqlite", "everlog.store.jsonl.framed"])


class Rival:
    """One of the processes: tells what it did, and waits to be told to go on."""

    def __init__(self, process: ForkServerProcess, pipe: Connection) -> None:
        self.process = process
        self.pipe = pipe

    def hear(self, seconds: float = 60.0) -> Any:
        """Give what it tells next."""
        assert self.pipe.poll(seconds), "it tells nothing"
        return self.pipe.recv()

    def go_on(self) -> None:
        """Let it go on."""
        self.pipe.send("go on")


@contextmanager
def rivals(count: int, work: Any, *arguments: Any) -> Iterator[list[Rival]]:
    """Start so many processes at the same work."""
    started: list[Rival] = []
    try:
        for number in range(count):
            ours, theirs = _context.Pipe()
            process = _context.Process(target=_run, args=(work, theirs, number, *arguments), daemon=True)
            process.start()
            started.append(Rival(process, ours))
        yield started
    finally:
        for rival in started:
            rival.process.kill()
            rival.process.join()


def _run(work: Any, pipe: Connection, *arguments: Any) -> None:
    """Do the work, and live on until the other end is closed: a process id that is signalled is never another's."""
    try:
        asyncio.run(work(pipe, *arguments))
    except BaseException:
        pipe.send(traceback.format_exc())
    with suppress(EOFError):
        while True:
            pipe.recv()


async def _told(pipe: Connection) -> Any:
    return await asyncio.to_thread(pipe.recv)


async def open_new(pipe: Connection, number: int, url: str) -> None:
    """Open a store that is not there yet, at a signal, and make a session in it."""
    pipe.send("ready")
    await _told(pipe)
    async with open_store(url) as store, await store.create({"id": f"s{number}", "createdAt": 1}) as session:
        plain_turn(Story(session), f"of {number}")
        await session.flush()
    pipe.send("done")


async def contend(pipe: Connection, number: int, url: str, id: str) -> None:
    """Try to write a session, at a signal; tell who holds it, or hold it, and append when told to."""
    async with open_store(url) as store:
        pipe.send("ready")
        await _told(pipe)
        try:
            session = await store.open(id, "write")
        except SessionBusy as busy:
            pipe.send(("busy", busy.holder))
            return
        async with session:
            pipe.send(("held", session.next_seq))
            while await _told(pipe):
                plain_turn(Story(session), f"by {number}")
                await session.flush()
                pipe.send(("wrote", session.next_seq))


async def write_own(pipe: Connection, number: int, url: str, turns: int) -> None:
    """Write a session of its own, flushing at each turn, while others do so in the same store."""
    async with open_store(url) as store, await store.create({"id": f"s{number}", "createdAt": 1}) as session:
        for n in range(turns):
            plain_turn(Story(session), f"turn {n} of {number}")
            await session.flush()
    pipe.send([event.to_json() for event in session.events])
