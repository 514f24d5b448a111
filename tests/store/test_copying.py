"""Copies between stores of every kind: what lists show of them is what they show of the originals."""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.conftest import URLS

from everlog import SessionNotFound, open_store
from everlog.session.errors import SessionCorrupt
from everlog.session.payloads import SessionTitle
from everlog.store.backend import Summary
from everlog.store.store import Store
from everlog.store.urls import path_of


class Pair(NamedTuple):
    """The URLs of two stores."""

    source: str
    target: str


@pytest.fixture(params=product(URLS, URLS), ids="-to-".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Pair:
    """Every kind of store, and every kind to copy to."""
    source, target = request.param
    return Pair(URLS[source].format(tmp_path / "source"), URLS[target].format(tmp_path / "target"))


async def use(store: Store, id: str, text: str | None = None) -> None:
    """Open a session for writing, a new one when there is none, at a moment of its own."""
    await asyncio.sleep(0.002)
    try:
        session = await store.open(id, "write")
    except SessionNotFound:
        session = await store.create({"id": id})
    async with session:
        if text is not None:
            plain_turn(Story(session), text)
    await asyncio.sleep(0.002)


def shown(summaries: object) -> list[tuple[str, int, int, str | None, str | None]]:
    """Give what is compared of a list."""
    assert isinstance(summaries, (list, tuple))
    found: list[Summary] = list(summaries)
    return [(item.id, item.updated_at, item.events, item.title, item.preview) for item in found]


async def test_copies_stand_among_each_other_and_others_in_the_order_of_their_last_use(pair: Pair) -> None:
    async with open_store(pair.source) as store, open_store(pair.target) as other:
        for id in "abc":
            await use(store, id, f"this is {id}")
        await use(other, "there", "was here")
        await use(store, "a", "more")
        await use(store, "b")
        for id in "bca":
            await store.copy(id, other)
        listed, theirs = await other.list(), await store.list()
        assert [summary.id for summary in listed] == ["b", "a", "there", "c"]
        assert shown([summary for summary in listed if summary.id != "there"]) == shown(theirs)
    async with open_store(pair.target) as other:
        assert shown(await other.list()) == shown(listed)


async def test_a_copy_that_was_interrupted_and_begun_again_keeps_the_time(pair: Pair) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(done: int, of: int) -> None:
        if done < of:
            raise Interrupted

    async with open_store(pair.source) as store, open_store(pair.target) as other:
        await use(store, "long", "x" * 1_200_000)
        await use(store, "long", "and more")
        await use(other, "there", "was here")
        with pytest.raises(Interrupted):
            await store.copy("long", other, interrupt)
        assert (await store.copy("long", other)).written
        assert (await store.copy("long", other)).written == 0
        assert [summary.id for summary in await other.list()] == ["there", "long"]
        assert shown((await other.list())[1:]) == shown(await store.list())


async def test_a_fork_is_copied_as_one_with_its_own_time_and_title(pair: Pair) -> None:
    async with open_store(pair.source) as store, open_store(pair.target) as other:
        async with await store.create({"id": "parent"}) as parent:
            plain_turn(Story(parent), "what both say")
        await asyncio.sleep(0.002)
        async with await store.fork("parent") as child:
            plain_turn(Story(child), "of the child")
        await asyncio.sleep(0.002)
        async with await store.open("parent", "write") as parent:
            parent.append(SessionTitle(title="Given after the fork"))
        await store.copy("parent", other)
        assert (await store.copy(child.id, other)).written < child.next_seq
        assert shown(await other.list()) == shown(await store.list())
        assert (await other.list())[1].title is None


async def test_what_lies_in_the_trash_is_copied_into_the_trash(pair: Pair) -> None:
    async with open_store(pair.source) as store, open_store(pair.target) as other:
        for id in "ab":
            await use(store, id, f"this is {id}")
            await store.delete(id)
        for id in "ba":
            assert (await store.copy(id, other)).trashed
        assert shown(await other.list(trashed=True)) == shown(await store.list(trashed=True))
        assert not await other.list()
        before = await other.list(trashed=True)
        assert (await store.copy("a", other)).written == 0
        assert await other.list(trashed=True) == before


async def test_a_copy_in_the_trash_that_was_begun_is_gone_on_with_there(pair: Pair) -> None:
    async with open_store(pair.source) as store, open_store(pair.target) as other:
        await use(store, "a", "one")
        await store.copy("a", other)
        await other.delete("a")
        with pytest.raises(SessionNotFound, match="trash"):
            await store.copy("a", other)
        await use(store, "a", "two")
        await store.delete("a")
        assert (await store.copy("a", other)).written
        assert shown(await other.list(trashed=True)) == shown(await store.list(trashed=True))
        assert (await other.verify("a")).head == (await store.verify("a")).head


@pytest.mark.parametrize("name", ["jsonl", "jsonl-zstd"])
async def test_an_index_that_is_made_anew_knows_the_times_of_copies(name: str, tmp_path: Path) -> None:
    url = URLS[name].format(tmp_path)
    async with open_store("memory:") as store, open_store(url) as other:
        for id in "fdbace":
            await use(store, id, f"this is {id}")
        for id in "abcdef":
            await store.copy(id, other)
        listed = shown(await store.list())
    for file in path_of(url).glob("index.db*"):
        file.unlink()
    async with open_store(url) as other:
        assert shown(await other.list()) == listed


async def test_what_could_be_copied_of_a_damaged_session_keeps_its_time(tmp_path: Path) -> None:
    url = URLS["jsonl"].format(tmp_path)
    async with open_store(url) as store, open_store("memory:") as other:
        await use(store, "a", "one that is damaged")
        await use(store, "a", "another")
        (log,) = path_of(url).glob("sessions/a/events.jsonl")
        log.write_bytes(log.read_bytes().replace(b"another", b"ANOTHER"))
        await use(other, "there", "was here")
        with pytest.raises(SessionCorrupt) as refused:
            await store.copy("a", other)
        listed = await other.list()
        assert [summary.id for summary in listed] == ["there", "a"]
        assert listed[1].updated_at == (await store.list())[0].updated_at
        assert listed[1].events == refused.value.seq


async def make_long(store: Store, id: str) -> None:
    """Store a session that is copied in many steps."""
    async with await store.create({"id": id}) as session:
        for _ in range(12):
            session.append_json("vendor/x", "x" * 1_100_000, ignorable=True)


@pytest.mark.parametrize("name", URLS)
async def test_a_flush_waits_for_a_step_of_a_copy_and_not_for_its_end(name: str, tmp_path: Path) -> None:
    async with open_store("memory:") as store, open_store(URLS[name].format(tmp_path)) as other:
        await make_long(store, "long")
        async with await other.create({"id": "other"}) as session:
            steps: list[int] = []
            flushed: list[int] = []

            def progress(done: int, of: int) -> None:
                steps.append(done)
                if len(steps) == 2:
                    plain_turn(Story(session), "in between")
                    waiting.append(asyncio.create_task(flush()))

            async def flush() -> None:
                await session.flush()
                flushed.append(len(steps))

            waiting: list[asyncio.Task[None]] = []
            assert (await store.copy("long", other, progress)).events == 12
            await asyncio.gather(*waiting)
        assert len(steps) > 8
        assert flushed[0] < 6


@pytest.mark.parametrize("name", URLS)
async def test_a_copy_that_is_cancelled_gives_the_session_back_and_is_gone_on_with(name: str, tmp_path: Path) -> None:
    async with open_store("memory:") as store, open_store(URLS[name].format(tmp_path)) as other:
        await make_long(store, "long")

        def progress(done: int, of: int) -> None:
            if done >= 3:
                copying.cancel()

        copying = asyncio.create_task(store.copy("long", other, progress))
        with pytest.raises(asyncio.CancelledError):
            await copying
        found = await other.open("long", "read")
        assert 3 <= found.next_seq < 12
        assert (await store.copy("long", other)).written == 12 - found.next_seq
        assert (await other.verify("long")).head == (await store.verify("long")).head
