"""Writes that fail: nothing is lost, everybody can see it, and it catches up by itself."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.conftest import ON_DISK, URLS

from everlog import StoreError, WriteFailed, open_store
from everlog.session.event import Event, event_json
from everlog.store.chain import Batch
from everlog.store.durable import DurableSession
from everlog.store.urls import path_of


def fail_while(session: DurableSession, refuses: Callable[[Batch], bool]) -> list[int]:
    """Have the store refuse batches of a session as a full disk does; give the seqs at which it was tried."""
    lease: Any = session._writing.lease
    tries: list[int] = []

    def guarded(append: Callable[[Batch], None]) -> Callable[[Batch], None]:
        def run(batch: Batch) -> None:
            if refuses(batch):
                tries.append(batch.first_seq)
                raise OSError(errno.ENOSPC, "No space left on device")
            append(batch)

        return run

    lease.append, lease.append_synced = guarded(lease.append), guarded(lease.append_synced)
    return tries


async def test_a_failed_write_is_visible_kept_and_made_good(url: str) -> None:
    async with open_store(url) as store, await store.create() as session:
        full = True
        tries = fail_while(session, lambda batch: full)
        told: list[Any] = []
        session.observe_trouble(told.append)
        plain_turn(Story(session), "kept")
        with pytest.raises(WriteFailed, match="No space left"):
            await session.flush()
        assert isinstance(session.trouble, WriteFailed)
        patient = asyncio.create_task(session.when_durable())
        plain_turn(Story(session), "more")
        await asyncio.sleep(0.2)
        assert not patient.done()
        assert session.durable_seq == 0
        full = False
        async with asyncio.timeout(60):
            await patient
        assert session.trouble is None
        assert session.durable_seq >= 8
        assert [type(trouble) for trouble in told] == [WriteFailed, type(None)]
        assert set(tries) == {0}
        await session.flush()
        async with await store.open(session.id) as seen:
            assert [event.to_json() for event in seen.events] == [event.to_json() for event in session.events]


async def test_it_catches_up_without_anybody_waiting(url: str) -> None:
    async with open_store(url) as store, await store.create() as session:
        full = True
        tries = fail_while(session, lambda batch: full)
        plain_turn(Story(session), "kept")
        while len(tries) < 3:  # noqa: ASYNC110 - another thread counts
            await asyncio.sleep(0.01)
        full = False
        async with asyncio.timeout(60):
            async for event in store.follow(session.id):
                if event.seq == session.next_seq - 1:
                    break


async def test_a_patient_wait_can_be_cancelled(url: str) -> None:
    async with open_store(url) as store, await store.create() as session:
        full = True
        fail_while(session, lambda batch: full)
        plain_turn(Story(session), "kept")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await session.when_durable()
        full = False
        await session.flush()


async def test_the_one_append_that_holds_a_result_is_kept_and_retried(url: str) -> None:
    async with open_store(url) as store, await store.create() as session:
        fails = iter([True, True])
        tries = fail_while(session, lambda batch: b"the evidence" in b"".join(batch.data) and next(fails, False))
        story = Story(session)
        story.turn()
        story.step()
        story.answer("", calls=["c1"])
        story.call("c1")
        await session.flush()
        story.result("c1", "the evidence")
        async with asyncio.timeout(60):
            await session.when_durable()
        assert len(tries) == 2
        async with await store.open(session.id) as seen:
            assert b"the evidence" in seen.events[session.next_seq - 1].to_json()


async def test_closing_waits_for_no_better_times_but_loses_nothing(url: str) -> None:
    async with open_store(url) as store:
        session = await store.create()
        full = True
        fail_while(session, lambda batch: full)
        plain_turn(Story(session), "kept")
        with pytest.raises(WriteFailed):
            await session.close()
        plain_turn(Story(session), "still open")
        full = False
        await session.close()
        async with await store.open(session.id) as seen:
            assert seen.ledger.turns.last == 2


async def test_one_session_in_trouble_holds_up_no_other(url: str) -> None:
    async with open_store(url) as store, await store.create() as bad, await store.create() as good:
        full = True
        fail_while(bad, lambda batch: full)
        plain_turn(Story(bad))
        plain_turn(Story(good))
        with pytest.raises(WriteFailed):
            await bad.flush()
        await good.flush()
        full = False


async def test_a_statement_that_fails_in_the_middle_of_a_batch_is_rolled_back_and_the_lock_is_freed(
    tmp_path: Path,
) -> None:
    url = URLS["sqlite"].format(tmp_path)
    async with open_store(url) as store, await store.create() as session, await store.create() as other:
        with closing(sqlite3.connect(path_of(url), isolation_level=None)) as connection:
            connection.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON event WHEN instr(NEW.data, 'poison')"
                " BEGIN SELECT RAISE(ABORT, 'refused here'); END"
            )
            plain_turn(Story(session), "poison")
            with pytest.raises(WriteFailed, match="refused here"):
                await session.flush()
            assert connection.execute("SELECT count(*) FROM event").fetchone() == (0,)
            plain_turn(Story(other), "sound")
            await other.flush()
            connection.execute("DROP TRIGGER refuse")
        async with asyncio.timeout(60):
            await session.when_durable()
        assert (await store.verify(session.id)).sound


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for a few megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(
            f"only root can mount a small disk; the file size limit stands in for it here: {done.stderr.strip()}"
        )
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("name", ON_DISK)
async def test_a_full_disk_that_has_room_again_catches_up(name: str, small_disk: Path) -> None:
    url = URLS[name].format(small_disk)
    async with open_store(url) as store, await store.create() as session:
        plain_turn(Story(session), "before")
        await session.flush()
        fill(small_disk / "ballast")
        told: list[Any] = []
        session.observe_trouble(told.append)
        for n in range(30):
            plain_turn(Story(session), f"turn {n} " + os.urandom(2_000).hex())
        with pytest.raises(WriteFailed):
            await session.flush()
        assert told
        (small_disk / "ballast").unlink()
        async with asyncio.timeout(60):
            await session.when_durable()
        assert told[-1] is None
        written = [event.to_json() for event in session.events]
    async with open_store(url) as store:
        async with await store.open(session.id) as seen:
            assert [event.to_json() for event in seen.events] == written
        assert (await store.verify(session.id)).sound


def fill(path: Path) -> None:
    """Write until there is no room."""
    with open(path, "wb", buffering=0) as file:
        for size in (65_536, 4_096, 512, 1):
            try:
                while True:
                    file.write(b"\x00" * size)
            except OSError:
                continue


LIMITED = """
import asyncio, os, resource, sys
from tests.session.stories import Story, plain_turn
from everlog import StoreError, WriteFailed, open_store

async def main(url):
    async with open_store(url) as store, await store.create({"id": "s", "createdAt": 1}) as session:
        plain_turn(Story(session), "before")
        await session.flush()
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), most))
        for n in range(60):
            plain_turn(Story(session), f"turn {n} " + os.urandom(2_000).hex())
        try:
            await session.flush()
        except WriteFailed as error:
            print("failed", flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        async with asyncio.timeout(60):
            await session.when_durable()
        print("durable", session.next_seq, flush=True)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("name", ON_DISK)
def test_a_file_that_may_not_grow_any_more_catches_up_when_it_may(name: str, tmp_path: Path) -> None:
    url = URLS[name].format(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, url, "100000"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "failed"
    assert asyncio.run(sound_events(url, "s")) == int(second.split()[1])


async def sound_events(url: str, id: str) -> int:
    """Give how many events a session has, once it is seen to be sound."""
    async with open_store(url) as store:
        found = await store.verify(id)
        assert found.sound
        return found.events


async def test_a_store_that_is_left_in_trouble_says_so_gives_everything_back_and_keeps_nobody_waiting(url: str) -> None:
    opening = open_store(url)
    store = await opening.__aenter__()
    bad, good = await store.create(), await store.create()
    fail_while(bad, lambda batch: True)
    plain_turn(Story(bad))
    plain_turn(Story(good))
    waiting = asyncio.create_task(bad.when_durable())
    await asyncio.sleep(0)
    with pytest.raises(WriteFailed):
        await opening.__aexit__(None, None, None)
    with pytest.raises(StoreError):
        await asyncio.wait_for(waiting, 60)
    async with open_store(url) as store:
        async with await store.open(good.id) as seen:
            assert seen.stored == 8
        async with await store.open(bad.id, "write") as again:
            assert again.next_seq == 0


async def test_a_session_that_is_abandoned_keeps_nobody_waiting(url: str) -> None:
    async with open_store(url) as store:
        session = await store.create()
        fail_while(session, lambda batch: True)
        plain_turn(Story(session))
        waiting = asyncio.create_task(session.when_durable())
        await asyncio.sleep(0)
        await session.abandon()
        with pytest.raises(StoreError):
            await waiting
        async with await store.open(session.id, "write") as again:
            assert again.next_seq == 0


async def test_events_for_whose_bytes_memory_runs_out_are_kept_and_stored_later(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = True

    def bytes_of(event: Event) -> bytes:
        if short:
            raise MemoryError
        return event_json(event)

    async with open_store(url) as store, await store.create({"id": "s"}) as session:
        monkeypatch.setattr("everlog.store.pen.event_json", bytes_of)
        Story(session).prompt("kept")
        plain_turn(Story(session))
        with pytest.raises(WriteFailed):
            await session.flush()
        short = False
        await session.when_durable()
        async with await store.open("s") as seen:
            assert [event.to_json() for event in seen.events] == [event.to_json() for event in session.events]


def test_the_writer_goes_on_when_the_event_loop_of_who_waits_is_closed(disk_url: str) -> None:
    loop = asyncio.new_event_loop()

    async def begin() -> tuple[Any, DurableSession, DurableSession]:
        opened = open_store(disk_url)
        store = await opened.__aenter__()
        first, second = await store.create({"id": "first"}), await store.create({"id": "second"})
        fail_while(first, lambda batch: True)
        Story(first).prompt("nobody hears that this fails")
        first._flush(patient=False)
        return (opened, store), first, second

    (_opened, store), first, second = loop.run_until_complete(begin())
    loop.close()
    store._writer.call(lambda: None).result()
    Story(second).prompt("stored all the same")
    store._writer.call(second._writing.write_out).result()
    assert isinstance(first.trouble, WriteFailed)
    assert second._writing.stored == 1
    for session in (first, second):
        store._writer.call(partial(store._give_back, session._writing)).result()
    store._writer.close()
    store.backend.close()
