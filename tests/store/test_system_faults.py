"""The disk fails below the C library, in a process of its own: each single call of a run, on SQLite and on lines.

And the power fails: of what a run did up to any point, only what was synced is sure to be left.
"""

from __future__ import annotations

import random
import shutil
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

from everlog import open_store

SEED = 1
KINDS = ["sqlite", "jsonl"]
FAULTS = {
    "fails": FAIL,
    "is full": FULL,
    "takes half": SHORT,
    "takes half and dies": TEAR,
    "does it and dies": DIE_AFTER,
    "fails from here on": FAIL_FROM_HERE,
}
EACH = 400
SOME, FEW = 25, 8
"""So many positions of a run are tried of faults that others resemble; few of the one that has a run wait."""


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
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", KINDS)
async def test_whatever_call_goes_wrong_each_promise_holds(bench: Bench, name: str, fault: str, tmp_path: Path) -> None:
    await empty_store(name, tmp_path / "empty")
    shutil.copytree(tmp_path / "empty", tmp_path / "sound")
    calls = run(bench, tmp_path / "sound", URLS[name].format(tmp_path / "sound")).calls
    assert calls is not None
    most = {"fails": EACH, "takes half": EACH, "takes half and dies": EACH, "fails from here on": FEW}.get(fault, SOME)
    for at in steps_apart(calls, most):
        folder = tmp_path / f"at{at}"
        shutil.copytree(tmp_path / "empty", folder)
        url = URLS[name].format(folder)
        outcome = run(bench, folder, url, at, FAULTS[fault])
        if outcome.error is not None:
            assert FAULTS[fault] in (FAIL, FULL, FAIL_FROM_HERE), outcome.error
        await check_session(url, "s", SEED, outcome.promised("flush"), steps=10)
        shutil.rmtree(folder)


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
