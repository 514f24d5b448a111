"""What a bad disk or a hand left beside the events of one session harms no other, and keeps nobody waiting."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.session.stories import Story, plain_turn

from everlog import SessionBusy, SessionCorrupt, open_store


async def two_sessions(url: str) -> None:
    """Store two sessions, `bad` and `good`."""
    async with open_store(url) as store:
        for id in ("bad", "good"):
            async with await store.create({"id": id}) as session:
                plain_turn(Story(session))
                session.append_json("session/title", {"title": id, "source": {"kind": "user"}})


def rewrite(database: Path, change: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"UPDATE session SET {change} WHERE id = 'bad'")


@pytest.mark.parametrize("change", ["title = CAST(x'ff41' AS TEXT)", "preview = x'00'", "used_at = 'long ago'"])
async def test_a_row_of_a_list_that_is_damaged_hides_no_other(tmp_path: Path, change: str) -> None:
    database = tmp_path / "sessions.db"
    await two_sessions(f"sqlite://{database}")
    rewrite(database, change)
    async with open_store(f"sqlite://{database}") as store:
        listed = {summary.id: summary for summary in await store.list()}
        assert listed["good"].title == "good"
        assert isinstance(listed["bad"].updated_at, int)
        assert listed["bad"].title in ("bad", "\ufffdA")


@pytest.mark.parametrize("change", ["base = key, inherited = 3", "inherited = 3", "base = key + 1, inherited = 3"])
async def test_a_session_that_is_said_to_be_forked_from_itself_is_read_all_the_same(
    tmp_path: Path, change: str
) -> None:
    database = tmp_path / "sessions.db"
    await two_sessions(f"sqlite://{database}")
    rewrite(database, change)
    async with open_store(f"sqlite://{database}") as store:
        assert (await store.verify("bad")).sound
        async with await store.open("bad", "write") as session:
            plain_turn(Story(session))


async def test_a_database_has_one_lock_for_a_session_by_whatever_link_it_is_reached(tmp_path: Path) -> None:
    database, link = tmp_path / "sessions.db", tmp_path / "link.db"
    await two_sessions(f"sqlite://{database}")
    try:
        link.symlink_to(database)
    except OSError:
        pytest.skip("links are not for everybody here")
    async with open_store(f"sqlite://{database}") as store, open_store(f"sqlite://{link}") as other:
        async with await store.open("good", "write") as session:
            with pytest.raises(SessionBusy):
                await other.open("good", "write")
            plain_turn(Story(session))
        async with await other.open("good", "write") as session:
            assert session.ledger.turns.last == 2


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
@pytest.mark.parametrize("put", [pipe, Path.mkdir])
async def test_what_stands_in_the_place_of_a_log_and_is_no_file_is_told_at_once(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    await two_sessions(f"jsonl://{tmp_path}")
    log = tmp_path / "sessions" / "bad" / "events.jsonl"
    log.unlink()
    put(log)
    for index in tmp_path.glob("index.db*"):
        index.unlink()
    async with open_store(f"jsonl://{tmp_path}") as store:
        for mode in ("read", "write"):
            with pytest.raises(SessionCorrupt, match="no file"):
                await store.open("bad", mode)
        listed = {summary.id: summary.damage for summary in await store.list()}
        assert listed["good"] is None
        assert "no file" in str(listed["bad"])
        (fault,) = (await store.check()).faults
        assert "bad" in fault
        assert "no file" in fault
    shutil.rmtree(log.parent)


async def test_a_folder_whose_name_is_no_text_hides_no_session(tmp_path: Path) -> None:
    await two_sessions(f"jsonl://{tmp_path}")
    try:
        os.mkdir(os.fsencode(tmp_path / "sessions") + b"/\xff")
    except OSError:
        pytest.skip("every name is a text here")
    async with open_store(f"jsonl://{tmp_path}") as store:
        assert {summary.id for summary in await store.list()} == {"bad", "good"}
        assert (await store.check()).faults == ()
