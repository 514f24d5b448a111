"""A store that is damaged as a whole says so in one line, with what to do next; what it says is true."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.cli.test_bad_input import assert_one_helpful_line
from tests.session.stories import Story, plain_turn

from everlog import open_store


async def told(url: str) -> None:
    async with open_store(url) as store:
        for id in ("alpha", "beta"):
            async with await store.create({"id": id}) as session:
                plain_turn(Story(session), "of zebras", f"answer to {id}")


def overwrite(database: Path, name: str) -> None:
    """Overwrite the first page of a table or an index, behind the back of SQLite."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


@pytest.fixture
def database(cli: Cli) -> Path:
    asyncio.run(told(f"sqlite:///{cli.database}"))
    return cli.database


@pytest.mark.parametrize("command", [["sessions"], ["verify"], ["stats"], ["store", "check"]], ids=" ".join)
def test_a_database_whose_sessions_cannot_be_listed(cli: Cli, database: Path, command: list[str]) -> None:
    overwrite(database, "session")
    assert_one_helpful_line(cli(*command), 1, str(database), "is damaged", "a backup", "everlog store copy FROM TO")


def test_what_can_still_be_read_is_copied_where_sessions_cannot_be_listed(cli: Cli, database: Path) -> None:
    overwrite(database, "session_used")
    source, target = f"sqlite:///{database}", f"jsonl:///{cli.work}/copy"
    assert_one_helpful_line(cli("store", "copy", source, target), 1, "everlog store copy FROM TO", "--session")
    assert cli("store", "copy", source, target, "--session", "alpha", "--session", "beta").code == 0
    assert len(cli("sessions", "--json", "--store", target).json) == 2


def test_a_search_in_damaged_words(cli: Cli, database: Path) -> None:
    assert len(cli("sessions", "--search", "zebras", "--json").json) == 2
    overwrite(database, "words_data")
    assert_one_helpful_line(cli("sessions", "--search", "zebras"), 1, "is damaged", "everlog store copy")
    assert cli("store", "copy", f"sqlite:///{database}", f"jsonl:///{cli.work}/copy").code == 0


def test_a_check_of_a_database_goes_on_behind_what_is_damaged(cli: Cli, database: Path) -> None:
    overwrite(database, "words_data")
    done = cli("store", "check", "--json")
    assert done.code == 1, done
    assert done.json["sessions"] == 2
    assert any("malformed" in fault or "SQLite says" in fault for fault in done.json["faults"])


@pytest.mark.parametrize("how", ["cut short", "overwritten"])
def test_a_database_that_was_cut_short_or_overwritten(cli: Cli, database: Path, how: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = database.read_bytes()
    database.write_bytes(kept[:8192] if how == "cut short" else b"\0" * 4096 + kept[4096:])
    assert_one_helpful_line(cli("sessions"), 1, str(database), how, "a backup of it in its place")
    database.write_bytes(kept)
    assert len(cli("sessions", "--json").json) == 2


@pytest.mark.parametrize("damage", ["", "{", '{"everlog": 3}'])
def test_a_damaged_description_of_a_folder(cli: Cli, damage: str) -> None:
    url = f"jsonl://{cli.work}/lines"
    asyncio.run(told(url))
    description = cli.work / "lines" / "store.json"
    description.write_text(damage)
    done = cli("sessions", "--store", url)
    assert_one_helpful_line(done, 1, "store.json is damaged", "from a backup")
    description.write_text(done.err.partition("or write ")[2].partition(" into it")[0])
    assert len(cli("sessions", "--json", "--store", url).json) == 2
