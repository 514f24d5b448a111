"""A store of an older version becomes one of a newer, whole or not at all; one of a later version is refused."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.conftest import ON_DISK, URLS
from tests.store.lab import work
from tests.store.lab.bench import DIE_AFTER, TEAR, Bench, check_session

from everlog import StoreError, open_store
from everlog.session.errors import FormatUnsupported
from everlog.store.sqlite import schema
from everlog.store.urls import path_of


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


async def test_a_store_is_backed_up_and_migrated(disk_url: str) -> None:
    await work.prepare(disk_url, "s0", 0)
    work.migrated(disk_url)
    assert version_of(disk_url) == 2
    assert work.marks(disk_url) == ["migrated"]
    backup = backup_of(disk_url)
    if backup.is_file():
        with closing(sqlite3.connect(backup)) as connection:
            assert connection.execute("SELECT count(*) FROM event").fetchone() == (len(work.expected("s0", 0)),)
            assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    else:
        assert len(list(backup.glob("s0/events.*"))) == 1
    set_version(disk_url, 1)
    await check_session(disk_url, "s0", 0, len(work.expected("s0", 0)))


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
@pytest.mark.parametrize("fault", [TEAR, DIE_AFTER])
@pytest.mark.parametrize("name", ON_DISK)
async def test_a_migration_that_is_killed_anywhere_is_finished_later(
    bench: Bench, name: str, fault: int, tmp_path: Path
) -> None:
    for n in range(2):
        await work.prepare(URLS[name].format(tmp_path / "old"), f"s{n}", n)
    at, finished = 0, False
    while not finished:
        folder = tmp_path / f"at{at}"
        shutil.copytree(tmp_path / "old", folder)
        url = URLS[name].format(folder)
        outcome = bench.run(work="migrate", url=url, id="s0", seed=0, folder=str(folder), at=at, kind=fault)
        assert outcome.error is None
        finished = outcome.status == 0
        assert work.marks(url) in ([], ["migrated"] * len(work.marks(url)))
        work.migrated(url)
        assert work.marks(url) == ["migrated"] * 2
        assert backup_of(url).exists()
        set_version(url, 1)
        await check_session(url, "s1", 1, len(work.expected("s1", 1)))
        shutil.rmtree(folder)
        at += 1
    assert at > 5
