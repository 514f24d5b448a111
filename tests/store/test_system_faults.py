"""The disk fails below the C library, in a process of its own: each single call of a run, on SQLite and on lines.

And the power fails: of what a run did up to any point, only what was synced is sure to be left.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.conftest import URLS
from tests.store.lab import work
from tests.store.lab.bench import (
    DIE_AFTER,
    FAIL,
    FAIL_FROM_HERE,
    FULL,
    SHORT,
    TEAR,
    Bench,
    Outcome,
    check_session,
    steps_apart,
)
from tests.store.lab.power import CHOICES, disk_of, lay_out, read_journal
from tests.store.tampering import log_file

from everlog import open_store
from everlog.store.jsonl.framed import FramedLog
from everlog.store.jsonl.plain import PlainLog
from everlog.store.urls import path_of

SEED = 1
KINDS = ["sqlite", "jsonl", "jsonl-zstd"]
FAULTS = {
    "fails": FAIL,
    "is full": FULL,
    "takes half": SHORT,
    "takes half and dies": TEAR,
    "does it and dies": DIE_AFTER,
    "fails from here on": FAIL_FROM_HERE,
}
AT_EACH = ["fails", "takes half", "takes half and dies"]
"""A call that only syncs, renames, cuts or removes has no half: it is done whole, or the process dies before it."""
SOME = {"is full": 25, "does it and dies": 25, "fails from here on": 8}


async def empty_store(name: str, folder: Path) -> str:
    """Make a store without sessions, and give its URL."""
    folder.mkdir()
    url = URLS[name].format(folder)
    async with open_store(url) as store:
        assert list(await store.list()) == []
    return url


def run(bench: Bench, folder: Path, url: str, at: int = -1, kind: int = 0, journal: Path | None = None) -> Outcome:
    """Run a short session in which the call `at` goes wrong."""
    kind_of_run = "in_vain" if kind == FAIL_FROM_HERE else "briefly"
    trial = {"work": kind_of_run, "url": url, "id": "s", "seed": SEED, "folder": str(folder), "at": at, "kind": kind}
    return bench.run(**trial, journal=str(journal) if journal else None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name in KINDS for fault in FAULTS if name != "jsonl-zstd" or fault in AT_EACH],
)
async def test_whatever_call_goes_wrong_each_promise_holds(bench: Bench, name: str, fault: str, tmp_path: Path) -> None:
    """Failing, taking half, and dying there are tried at each call of the run.

    The rest needs no more than some of them. A disk that is full fails with another number, at which nobody looks. Who
    dies after a call leaves what dying before the next one leaves, or dying in it when it is a write. A disk that fails
    from some call on does at first what one does that fails once; then the run waits, half a second each time, which is
    the same wherever it begins. Compressed logs are written and synced by the code that plain ones are; these of them
    need no more than plain ones either.
    """
    await empty_store(name, tmp_path / "empty")
    shutil.copytree(tmp_path / "empty", tmp_path / "sound")
    calls = run(bench, tmp_path / "sound", URLS[name].format(tmp_path / "sound")).calls
    assert calls is not None
    for at in range(calls) if fault in AT_EACH else steps_apart(calls, SOME[fault]):
        folder = tmp_path / f"at{at}"
        shutil.copytree(tmp_path / "empty", folder)
        url = URLS[name].format(folder)
        outcome = run(bench, folder, url, at, FAULTS[fault])
        assert outcome.error is None or may_raise(fault), outcome.error
        await check_session(url, "s", SEED, outcome.promised("flush"), steps=10)
        shutil.rmtree(folder)


def may_raise(fault: str) -> bool:
    """Tell whether a program is told of a fault; any other it has to make good, or dies of."""
    return FAULTS[fault] in (FAIL, FULL, FAIL_FROM_HERE)


@pytest.mark.slow
@pytest.mark.parametrize("fault", AT_EACH)
@pytest.mark.parametrize("name", ["sqlite", "jsonl"])
async def test_a_store_whose_making_went_wrong_at_any_call_is_made_later(
    bench: Bench, name: str, fault: str, tmp_path: Path
) -> None:
    at, calls = 0, None
    while calls is None or at < calls:
        folder = tmp_path / f"at{at}"
        folder.mkdir()
        url = URLS[name].format(folder)
        kind = 0 if calls is None else FAULTS[fault]
        outcome = bench.run(work="make", url=url, id="s", seed=SEED, folder=str(folder), at=at, kind=kind)
        assert outcome.error is None or may_raise(fault), outcome.error
        async with open_store(url) as store:
            assert list(await store.list()) == []
            await work.made(store, "s", SEED, steps=1)
            assert (await store.verify("s")).sound
        shutil.rmtree(folder)
        at, calls = (0, outcome.calls) if calls is None else (at + 1, calls)


@pytest.mark.slow
@pytest.mark.parametrize("fault", AT_EACH)
@pytest.mark.parametrize("name", KINDS)
async def test_a_torn_end_is_set_aside_whatever_call_goes_wrong_at_that(
    bench: Bench, name: str, fault: str, tmp_path: Path
) -> None:
    url = URLS[name].format(tmp_path / "torn")
    (tmp_path / "torn").mkdir()
    await work.prepare(url, "s", SEED)
    torn, count = tear(url)
    at, calls = 0, None
    while calls is None or at < calls:
        folder = tmp_path / f"at{at}"
        shutil.copytree(tmp_path / "torn", folder)
        url = URLS[name].format(folder)
        kind = 0 if calls is None else FAULTS[fault]
        outcome = bench.run(work="take_over", url=url, id="s", seed=SEED, folder=str(folder), at=at, kind=kind)
        assert outcome.error is None or may_raise(fault), outcome.error
        async with open_store(url) as store:
            async with await store.open("s", "write") as session:
                assert session.next_seq >= (outcome.promised("flush") or 0)
            kept = [event.to_json() for event in session.events][:count]
            assert kept == work.expected("s", SEED)[:count]
            assert (await store.verify("s")).sound
        assert torn in set_aside(url)
        shutil.rmtree(folder)
        at, calls = (0, outcome.calls) if calls is None else (at + 1, calls)


def tear(url: str) -> tuple[bytes, int]:
    """Cut the last bytes of the one session of a store off; give what is torn now, and how many events stand before."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(url))) as connection, connection:
            last = "WHERE at = (SELECT max(at) FROM event)"
            connection.execute(f"UPDATE event SET data = substr(data, 1, length(data) - 5) {last}")
            data: bytes = connection.execute(f"SELECT data FROM event {last}").fetchone()[0]
            return data, len(work.expected("s", SEED)) - 1
    path = log_file(url)
    path.write_bytes(path.read_bytes()[:-5])
    kind = FramedLog if path.suffix == ".zst" else PlainLog
    with closing(kind(os.open(path, os.O_RDONLY))) as log:
        return path.read_bytes()[log.tail().offset :], log.tail().end.next_seq


def set_aside(url: str) -> list[bytes]:
    """Give what was set aside from the ends of the logs of a store."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(url))) as connection:
            return [data for (data,) in connection.execute("SELECT data FROM torn")]
    return [path.read_bytes() for path in path_of(url).glob("sessions/*/torn-*")]


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", ["sqlite", "jsonl", "jsonl-zstd"])
async def test_no_promise_precedes_its_sync(bench: Bench, name: str, choice: str, tmp_path: Path) -> None:
    """The run begins before there is a store: folders that are made for it are names like any others."""
    folder = tmp_path / "run"
    folder.mkdir()
    disk = disk_of(folder)
    place = folder / "not" / "yet"
    assert run(bench, folder, URLS[name].format(place), journal=tmp_path / "journal").status == 0
    ops = read_journal(tmp_path / "journal")
    stops = set(steps_apart(len(ops), 60)) | {at for at, op in enumerate(ops) if op.name == "promise"}
    promised = 0
    for at, op in enumerate(ops):
        if op.name == "promise" and op.path == "flush":
            promised = op.offset
        disk.play(op)
        if at in stops:
            left = tmp_path / f"left{at}"
            lay_out(disk.left(choice, random.Random(at)), folder, left)
            await check_session(URLS[name].format(left / "not" / "yet"), "s", SEED, promised, steps=10)
            shutil.rmtree(left)
    assert promised == len(work.expected("s", SEED, steps=10))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sqlite", "jsonl", "jsonl-zstd"])
async def test_what_a_failed_sync_left_behind_is_written_again(bench: Bench, name: str, tmp_path: Path) -> None:
    """After a sync that failed, a system may take for written what is not; a later sync alone proves nothing."""
    await empty_store(name, tmp_path / "empty")
    shutil.copytree(tmp_path / "empty", tmp_path / "sound")
    run(bench, tmp_path / "sound", URLS[name].format(tmp_path / "sound"), journal=tmp_path / "sound.journal")
    counted = [op for op in read_journal(tmp_path / "sound.journal") if op.name not in ("create", "folder", "promise")]
    for at in [at for at, op in enumerate(counted) if op.name == "sync"]:
        folder, journal, left = tmp_path / f"at{at}", tmp_path / f"at{at}.journal", tmp_path / f"left{at}"
        shutil.copytree(tmp_path / "empty", folder)
        disk = disk_of(folder)
        outcome = run(bench, folder, URLS[name].format(folder), at, FAIL, journal)
        for op in read_journal(journal):
            disk.play(op)
        lay_out(disk.left("least", random.Random(at)), folder, left)
        await check_session(URLS[name].format(left), "s", SEED, outcome.promised("flush"), steps=10)
        shutil.rmtree(folder)
        shutil.rmtree(left)
