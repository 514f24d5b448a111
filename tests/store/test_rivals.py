"""Rival writers, each a process of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.lab.rivals import Rival, contend, open_new, rivals, write_own

from everlog import LeaseLost, SessionBusy, open_store
from everlog.store.urls import path_of


async def begun(url: str) -> str:
    async with open_store(url) as store, await store.create({"id": "s", "createdAt": 1}) as session:
        plain_turn(Story(session))
    return session.id


def start_together(started: list[Rival]) -> None:
    for rival in started:
        assert rival.hear() == "ready"
    for rival in started:
        rival.go_on()


async def test_eight_processes_open_a_new_store_at_the_same_time(disk_url: str) -> None:
    with rivals(8, open_new, disk_url) as started:
        start_together(started)
        assert [rival.hear() for rival in started] == ["done"] * 8
    async with open_store(disk_url) as store:
        assert {summary.id for summary in await store.list()} == {f"s{n}" for n in range(8)}
        for n in range(8):
            assert (await store.verify(f"s{n}")).sound


@pytest.mark.parametrize("count", [2, 8])
async def test_of_several_writers_one_gets_the_session_and_the_others_are_told_who(disk_url: str, count: int) -> None:
    id = await begun(disk_url)
    with rivals(count, contend, disk_url, id) as started:
        start_together(started)
        told = [rival.hear() for rival in started]
        (winner,) = [rival for rival, (what, _) in zip(started, told, strict=True) if what == "held"]
        busy = [holder for what, holder in told if what == "busy"]
        assert len(busy) == count - 1
        assert all(str(winner.process.pid) in holder for holder in busy)
        winner.go_on()
        assert winner.hear()[0] == "wrote"
    async with open_store(disk_url) as store:
        assert (await store.verify(id)).sound


async def test_a_killed_writer_is_taken_over_at_once_and_a_stopped_one_is_not(disk_url: str) -> None:
    id = await begun(disk_url)
    with rivals(1, contend, disk_url, id) as (rival,):
        start_together([rival])
        assert rival.hear()[0] == "held"
        pid = rival.process.pid
        assert pid is not None
        async with open_store(disk_url) as store:
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(SessionBusy, match=str(pid)):
                await store.open(id, "write")
            assert (await store.list())[0].holder is not None
            os.kill(pid, signal.SIGCONT)
            rival.go_on()
            assert rival.hear()[0] == "wrote"
            os.kill(pid, signal.SIGKILL)
            rival.process.join()
            assert (await store.list())[0].holder is None
            async with await store.open(id, "write") as session:
                plain_turn(Story(session), "taken over")
            assert (await store.verify(id)).sound


async def test_many_processes_write_sessions_of_their_own_into_one_store(disk_url: str) -> None:
    with rivals(4, write_own, disk_url, 15) as started:
        written = [rival.hear(120) for rival in started]
    async with open_store(disk_url) as store:
        for n, events in enumerate(written):
            async with await store.open(f"s{n}") as seen:
                assert [event.to_json() for event in seen.events] == events


async def test_a_holder_whose_lock_was_taken_away_fails_loudly_and_writes_nothing_more(disk_url: str) -> None:
    async with open_store(disk_url) as store, open_store(disk_url) as other:
        session = await store.create({"id": "s", "createdAt": 1})
        plain_turn(Story(session))
        await session.flush()
        for lock in locks_of(disk_url):
            lock.unlink()
        async with await other.open("s", "write") as taken:
            plain_turn(Story(taken), "by the other")
            told: list[object] = []
            session.observe_trouble(told.append)
            plain_turn(Story(session), "by the first")
            with pytest.raises(LeaseLost):
                await session.flush()
            with pytest.raises(LeaseLost):
                await session.when_durable()
            with pytest.raises(LeaseLost):
                plain_turn(Story(session), "by the first, again")
            assert [type(trouble) for trouble in told] == [LeaseLost]
            plain_turn(Story(taken), "by the other, again")
        await session.close()
        async with await store.open("s") as seen:
            assert [event.to_json() for event in seen.events] == [event.to_json() for event in taken.events]


async def test_a_holder_that_was_stopped_while_another_took_over_fails_loudly_when_it_wakes(disk_url: str) -> None:
    id = await begun(disk_url)
    with rivals(1, contend, disk_url, id) as (rival,):
        start_together([rival])
        assert rival.hear()[0] == "held"
        assert rival.process.pid is not None
        os.kill(rival.process.pid, signal.SIGSTOP)
        try:
            for lock in locks_of(disk_url):  # as when a lease runs out: nothing keeps the next one away any more
                lock.unlink()
            async with open_store(disk_url) as store, await store.open(id, "write") as taken:
                plain_turn(Story(taken), "by the other")
        finally:
            os.kill(rival.process.pid, signal.SIGCONT)
        rival.go_on()
        assert "LeaseLost" in rival.hear()
    async with open_store(disk_url) as store:
        assert (await store.verify(id)).sound
        async with await store.open(id) as seen:
            assert [event.to_json() for event in seen.events] == [event.to_json() for event in taken.events]


def locks_of(url: str) -> list[Path]:
    path = path_of(url)
    folder = path.with_name(path.name + "-locks") if url.startswith("sqlite") else path / "locks"
    return list(folder.glob("*.lock"))


async def test_a_fork_of_a_session_that_another_process_writes_is_of_what_is_stored(disk_url: str) -> None:
    id = await begun(disk_url)
    with rivals(1, contend, disk_url, id) as (rival,):
        start_together([rival])
        rival.hear()
        rival.go_on()
        _, count = rival.hear()
        async with open_store(disk_url) as store, await store.fork(id) as child:
            assert child.parent_running
            assert child.header.inherited_events == count
            plain_turn(Story(child), "of the child")
        rival.go_on()
        assert rival.hear()[0] == "wrote"
    async with open_store(disk_url) as store:
        assert (await store.verify(id)).sound
        assert (await store.verify(child.id)).sound
        async with await store.open(child.id) as seen:
            assert [event.to_json() for event in seen.events] == [event.to_json() for event in child.events]


async def test_a_follower_in_this_process_sees_what_another_writes(disk_url: str) -> None:
    id = await begun(disk_url)
    with rivals(1, contend, disk_url, id) as (rival,):
        start_together([rival])
        rival.hear()
        async with open_store(disk_url) as store:
            seen: list[int] = []
            rival.go_on()
            async for event in store.follow(id, 2):
                seen.append(event.seq)
                if len(seen) == 10:
                    rival.go_on()
                if len(seen) == 20:
                    break
            assert seen == list(range(2, 22))
