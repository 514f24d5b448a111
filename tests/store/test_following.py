"""Who follows a session is given its events as they come, and keeps no event loop waiting for a disk."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from threading import get_ident
from typing import cast

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.tampering import Rows, tampering

from everlog import SessionCorrupt, open_store
from everlog.session import Event
from everlog.store.backend import Backend, End, Reader
from everlog.store.chain import Record
from everlog.store.following import _AT_ONCE
from everlog.testing.store_contract.telling import say

AT = 5


class Watched:
    """A reader that notes on which threads it is used, and whether it was closed."""

    def __init__(self, reader: Reader, threads: set[int]) -> None:
        self._reader = reader
        self.threads = threads
        self.closed = False

    def end(self) -> End:
        self.threads.add(get_ident())
        return self._reader.end()

    def read(self, start: int, stop: int) -> Iterator[Record]:
        self.threads.add(get_ident())
        return self._reader.read(start, stop)

    def pick(self, seqs: Iterable[int]) -> Iterator[Record]:
        raise AssertionError("it reads on from where it is")

    def close(self) -> None:
        self.closed = True
        self._reader.close()


async def test_it_reads_on_other_threads_and_closes_what_it_reads_with(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: list[Watched] = []

    def watch(backend: Backend) -> None:
        real = backend.reader

        def reader(id: str) -> Watched:
            watched.append(Watched(real(id), {get_ident()}))
            return watched[-1]

        monkeypatch.setattr(backend, "reader", reader)

    async with open_store(url) as store, await store.create() as session:
        for n in range(_AT_ONCE + 44):
            say(session, f"text {n}")
        await session.flush()
        watch(store.backend)
        followed = cast("AsyncGenerator[Event]", store.follow(session.id))
        seqs = [(await anext(followed)).seq for _ in range(session.next_seq)]
        await followed.aclose()
    assert seqs == list(range(_AT_ONCE + 44))
    assert [(one.closed, get_ident() in one.threads) for one in watched] == [(True, False)]


async def test_what_stands_before_a_damaged_event_is_given(disk_url: str) -> None:
    def changed(rows: Rows) -> Rows:
        rows[AT] = rows[AT].replace(b"turn", b"tern", 1)
        return rows

    async with open_store(disk_url) as store, await store.create() as session:
        plain_turn(Story(session), "question")
    tampering(disk_url).rewrite(changed)
    async with open_store(disk_url) as store:
        followed = store.follow(session.id)
        for seq in range(AT):
            assert (await anext(followed)).seq == seq
        with pytest.raises(SessionCorrupt) as refused:
            await anext(followed)
    assert refused.value.seq == AT
