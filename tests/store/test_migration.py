"""A store of an older version becomes one of a newer, whole or not at all; one of a later version is refused."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.conftest import URLS
from tests.store.lab import work
from tests.store.lab.bench import DIE_AFTER, FAIL, SHORT, TEAR, Bench, check_session, steps_apart
from tests.store.lab.power import CHOICES, Disk, Op, disk_of, lay_out, read_journal

from everlog import StoreError, open_store
from everlog.session.errors import FormatUnsupported
from everlog.store.sqlite import schema
from everlog.store.urls import path_of

KINDS = ["sqlite", "jsonl"]
"""A migration of compressed logs copies files like one of plain ones."""


def version_of(url: str) -> int:
    path = path_of(url)
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            found: int = connection.execute("PRAGMA user_version").fetchone()[0]
            return found
    return 2 if b'"version":2' in (path / "store.json").read_bytes() else 1


def set_version(url: str, version: int) -> None:
    path = path_of(url)
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
    else:
        (path / "store.json").write_text(f'{{"everlog":"jsonl","version":{version}}}')


def backup_of(url: str) -> Path:
    path = path_of(url)
    return path.with_name(path.name + ".v1.backup") if url.startswith("sqlite") else path / "backup-v1"


async def two_sessions(url: str) -> None:
    """Make a store with a session, and another in the trash."""
    for n in range(2):
        await work.prepare(url, f"s{n}", n)
    async with open_store(url) as store:
        await store.delete("s1")


def bring_back(url: str) -> None:
    """Put a backup in the place of what was migrated, as the page on stores says."""
    path, backup = path_of(url), backup_of(url)
    if backup.is_file():
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        shutil.copyfile(backup, path)
        return
    (path / "index.db").unlink(missing_ok=True)
    for name in ("sessions", "trash"):
        shutil.rmtree(path / name)
    shutil.copytree(backup, path, dirs_exist_ok=True)


async def check_both(url: str) -> None:
    """See that both sessions are there, where they were and as they were."""
    async with open_store(url) as store:
        assert [(summary.id, bool(summary.trashed_at)) for summary in await store.list(trashed=True)] == [("s1", True)]
        await store.restore("s1")
    for n in range(2):
        await check_session(url, f"s{n}", n, len(work.expected(f"s{n}", n)))


async def test_a_store_is_backed_up_and_migrated(disk_url: str) -> None:
    await two_sessions(disk_url)
    if disk_url.startswith("jsonl"):
        (path_of(disk_url) / "index.db").unlink()  # made anew, it shows of a session when its file changed
    async with open_store(disk_url) as store:
        used = [store.backend.summary(f"s{n}").updated_at for n in range(2)]
    work.migrated(disk_url)
    assert version_of(disk_url) == 2
    assert set(work.marks(disk_url)) == {"migrated"}
    bring_back(disk_url)
    assert version_of(disk_url) == 1
    assert work.marks(disk_url) == []
    async with open_store(disk_url) as store:
        assert [store.backend.summary(f"s{n}").updated_at for n in range(2)] == used
    await check_both(disk_url)


async def recorded(bench: Bench, name: str, folder: Path) -> tuple[Disk, list[Op]]:
    """Migrate a store of two sessions in a new folder; give the disk as it was before, and every call of the run."""
    folder.mkdir()
    url = URLS[name].format(folder)
    await two_sessions(url)
    disk, journal = disk_of(folder), folder.with_name("journal")
    outcome = bench.run(
        work="migrate", url=url, id="s0", seed=0, folder=str(folder), at=-1, kind=0, journal=str(journal)
    )
    assert outcome.status == 0
    return disk, read_journal(journal)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
async def test_no_migration_begins_before_its_backup_is_safe(bench: Bench, name: str, tmp_path: Path) -> None:
    """Were the power lost when the first byte of a session is about to change, the backup would be there, and whole."""
    folder, left = tmp_path / "run", tmp_path / "left"
    disk, ops = await recorded(bench, name, folder)
    first = ("write", "sessions.db-wal") if name == "sqlite" else ("create", ".mark.")
    for op in ops:
        if op.name == first[0] and first[1] in op.path:
            break
        disk.play(op)
    lay_out(disk.left("least", random.Random(0)), folder, left)
    bring_back(URLS[name].format(left))
    await check_both(URLS[name].format(left))


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", KINDS)
async def test_a_migration_in_which_the_power_fails_is_finished_later(
    bench: Bench, name: str, choice: str, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    disk, ops = await recorded(bench, name, folder)
    stops = set(steps_apart(len(ops), 30))
    for at, op in enumerate(ops):
        disk.play(op)
        if at in stops:
            left = tmp_path / f"left{at}"
            lay_out(disk.left(choice, random.Random(at)), folder, left)
            await check_finished(URLS[name].format(left))
            shutil.rmtree(left)


async def check_finished(url: str) -> None:
    """See that a migration that ended anywhere is finished, and its backup is of the older version."""
    work.migrated(url)
    assert set(work.marks(url)) == {"migrated"}
    bring_back(url)
    assert work.marks(url) == []
    await check_both(url)


async def test_a_step_that_fails_leaves_the_older_version(tmp_path: Path) -> None:
    url = URLS["sqlite"].format(tmp_path)
    await work.prepare(url, "s0", 0)

    def fails(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM event")
        raise sqlite3.OperationalError("no such thing")

    with pytest.raises(StoreError, match="no such thing"):
        schema.prepare(path_of(url), [fails])
    assert version_of(url) == 1
    await check_session(url, "s0", 0, len(work.expected("s0", 0)))


async def test_a_store_of_a_later_version_is_refused_and_left_alone(disk_url: str) -> None:
    await work.prepare(disk_url, "s0", 0)
    set_version(disk_url, 9)
    with pytest.raises(FormatUnsupported, match="9"):
        async with open_store(disk_url):
            pass
    set_version(disk_url, 1)
    await check_session(disk_url, "s0", 0, len(work.expected("s0", 0)))


async def test_what_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_bytes(b"not a database, but long enough to be looked at" * 20)
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE session (a)")
        connection.execute("PRAGMA user_version = 1")
    with closing(sqlite3.connect(tmp_path / "plain.db")) as connection:
        connection.execute("CREATE TABLE mine (a)")
    (tmp_path / "file").write_text("a file")
    for name in ("text.db", "other.db", "plain.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError):
            async with open_store(f"sqlite://{tmp_path}/{name}"):
                pass
        assert (tmp_path / name).read_bytes() == before
    for url in (f"jsonl://{tmp_path}/file", f"sqlite://{tmp_path}/file/x.db", "jsonl:///", "nothing", "what:///x"):
        with pytest.raises(StoreError):
            async with open_store(url):
                pass
    with pytest.raises(StoreError, match="compression"):
        async with open_store(f"jsonl://{tmp_path}/lines?compression=lzma"):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("fault", [FAIL, SHORT, TEAR, DIE_AFTER])
@pytest.mark.parametrize("name", KINDS)
async def test_a_migration_that_goes_wrong_anywhere_is_finished_later(
    bench: Bench, name: str, fault: int, tmp_path: Path
) -> None:
    await two_sessions(URLS[name].format(tmp_path / "old"))
    at, calls = 0, None
    while calls is None or at < calls:
        folder = tmp_path / f"at{at}"
        shutil.copytree(tmp_path / "old", folder)
        url = URLS[name].format(folder)
        outcome = bench.run(work="migrate", url=url, id="s0", seed=0, folder=str(folder), at=at, kind=fault)
        assert outcome.error is None or fault == FAIL
        if outcome.status == 0:
            calls = outcome.calls
        assert outcome.status in (0, 1) if fault in (FAIL, SHORT) else -9
        assert len(set(work.marks(url))) <= 1
        await check_finished(url)
        shutil.rmtree(folder)
        at += 1
    assert at > 5
