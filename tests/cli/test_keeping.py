"""Commands that keep sessions: delete, verify, repair and store, in real processes."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest
from tests.cli.conftest import Cli
from tests.session.stories import Story, plain_turn

from everlog import open_store

_FIRST = 1 << 32


async def told(url: str, id: str, *prompts: str, unfinished: bool = False) -> None:
    """Store a session with a turn for each prompt; with `unfinished`, one more that was left open."""
    async with open_store(url) as store, await store.create({"id": id}) as session:
        for prompt in prompts:
            plain_turn(Story(session), prompt, f"answer to {prompt}")
        if unfinished:
            story = Story(session)
            story.turn()
            story.step()
            story.prompt("and then")


@pytest.fixture
def two(cli: Cli) -> Cli:
    asyncio.run(told(f"sqlite:///{cli.database}", "alpha", "first", "second"))
    asyncio.run(told(f"sqlite:///{cli.database}", "beta", "third"))
    return cli


def damage(cli: Cli, seq: int) -> None:
    """Change a stored event behind the back of the store."""
    with closing(sqlite3.connect(cli.database)) as connection, connection:
        connection.execute(
            "UPDATE event SET data = replace(CAST(data AS TEXT), 'type', 'tipe') WHERE at = ?", (_FIRST + seq,)
        )


def ids(cli: Cli, *more: str) -> list[str]:
    return [row["id"] for row in cli("sessions", "--json", *more).json]


def test_a_deleted_session_lies_in_the_trash_and_comes_back(two: Cli) -> None:
    assert "trashed alpha" in two("delete", "al").out
    assert ids(two) == ["beta"]
    assert ids(two, "--trash") == ["alpha"]
    refused = two("show", "alpha")
    assert refused.code == 1
    assert "--undo" in refused.err
    assert "restored alpha" in two("delete", "--undo", "al").out
    assert set(ids(two)) == {"alpha", "beta"}


def test_what_is_not_in_the_trash_is_not_brought_back_and_that_is_said(two: Cli) -> None:
    done = two("delete", "--undo", "al")
    assert done.code == 1
    assert "alpha is not in the trash" in done.err
    assert set(ids(two)) == {"alpha", "beta"}


def test_the_beginning_of_an_id_leads_into_the_trash_when_no_other_session_has_it(two: Cli) -> None:
    two("delete", "alpha")
    refused = two("show", "al")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "session alpha is in the trash" in refused.err
    assert "everlog delete alpha --undo" in refused.err
    asyncio.run(told(f"sqlite:///{two.database}", "alphabet", "first"))
    assert "alphabet" in two("show", "al").out


@pytest.mark.parametrize("undo", [[], ["--undo"]])
def test_a_beginning_that_several_trashed_sessions_have_names_none_of_them(two: Cli, undo: list[str]) -> None:
    asyncio.run(told(f"sqlite:///{two.database}", "alphabet", "first"))
    two("delete", "alpha", "alphabet")
    refused = two("delete", "al", *undo)
    assert refused.code == 1
    assert "2 sessions in the trash begin with al: " in refused.err
    assert len(ids(two, "--trash")) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "nope"],
        ["show", "alpha", "--at", "99"],
        ["request", "alpha", "--step", "9.9"],
        ["request", "alpha", "--side", "nope"],
        ["fork", "alpha", "--turn", "9"],
        ["context", "alpha", "--open", "0"],
        ["show", "--last", "--store", "memory:"],
        ["resume", "--last", "go", "--store", "memory:"],
    ],
    ids=" ".join,
)
def test_what_is_not_there_has_one_exit_code(two: Cli, arguments: list[str]) -> None:
    refused = two(*arguments)
    assert (refused.code, refused.err.count("\n")) == (1, 1), refused


def test_what_is_purged_is_gone_and_nobody_is_asked_twice(two: Cli) -> None:
    refused = two("delete", "alpha", "--purge")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert two("delete", "alpha", "--purge", "--yes", "--json").json == {"purged": ["alpha"]}
    two("delete", "beta")
    assert two("delete", "--trash", "--purge", "--yes").code == 0
    assert ids(two) == ids(two, "--trash") == []


def test_old_sessions_are_cleaned_up_but_none_that_was_used(two: Cli) -> None:
    with closing(sqlite3.connect(two.database)) as connection, connection:
        connection.execute("UPDATE session SET used_at = used_at - 40 * 86400000")

    async def resume() -> None:
        async with open_store(f"sqlite:///{two.database}") as store, await store.open("alpha", "write"):
            pass

    asyncio.run(resume())
    assert two("delete", "--older-than", "30", "--json").json == {"trashed": ["beta"]}
    assert ids(two) == ["alpha"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["alpha", "--undo", "--purge"], ["alpha", "--older-than", "3"], ["--trash"], ["nobody"]],
)
def test_a_delete_that_says_nothing_sensible_deletes_nothing(two: Cli, arguments: list[str]) -> None:
    refused = two("delete", *arguments)
    assert refused.code in (1, 2)
    assert len(refused.err.splitlines()) == 1
    assert len(ids(two)) == 2


def test_verify_says_that_all_is_sound_and_gives_the_heads(two: Cli) -> None:
    done = two("verify")
    assert done.code == 0, done
    assert done.out.count("sound") == 2
    (alpha,) = two("verify", "alpha", "--json").json
    assert alpha["holds"]
    assert alpha["head"].startswith("15:")
    assert two("verify", "alpha", "--head", alpha["head"]).code == 0
    other = f"15:{'0' * 40}"
    assert "not the one of the head" in two("verify", "alpha", "--head", other).out
    assert two("verify", "alpha", "--head", other).code == 1
    assert two("verify", "alpha", "--head", "rubbish").code == 2


def test_a_log_that_is_another_than_the_head_that_was_kept_is_not_said_to_be_mended_by_a_salvage(two: Cli) -> None:
    head = two("verify", "alpha", "--json").json[0]["head"]
    other = f"{head.partition(':')[0]}:{'0' * 40}"
    for kept in (other, f"999:{'0' * 40}"):
        done = two("verify", "alpha", "--head", kept)
        assert done.code == 1
        assert "NOT SOUND" in done.out
        assert "--salvage" not in done.out
        assert "sound in itself" in done.out
    damage(two, 4)
    assert "--salvage" in two("verify", "alpha", "--head", head).out


def test_verify_names_what_was_changed_and_repair_salvages_the_rest(two: Cli) -> None:
    damage(two, 4)
    done = two("verify")
    assert done.code == 1
    assert "event 4" in done.out
    assert "--salvage" in done.out
    refused = two("repair", "alpha")
    assert refused.code == 1
    assert "event 4" in refused.err
    saved = two("repair", "alpha", "--salvage", "--json").json
    assert [item["seq"] for item in saved["lost"]] == [4]
    assert two("verify", saved["session"]).code == 0
    assert "second" in two("show", saved["session"]).out
    assert two("verify", "alpha").code == 1


def test_what_is_sound_is_not_salvaged(two: Cli) -> None:
    done = two("repair", "alpha", "--salvage")
    assert done.code == 0, done
    assert "alpha is sound" in done.out
    assert two("repair", "alpha", "--salvage", "--json").json["session"] is None
    assert set(ids(two)) == {"alpha", "beta"}


def test_repair_closes_what_a_crash_left_open(cli: Cli) -> None:
    url = f"sqlite:///{cli.database}"

    async def crash() -> None:
        async with open_store(url) as store:
            session = await store.create({"id": "left"})
            story = Story(session)
            story.turn()
            story.step()
            await session.flush()
            await session.abandon()

    asyncio.run(crash())
    assert cli("repair", "left", "--json").json == {"session": "left", "closedBy": 2, "setAside": None}
    assert cli("repair", "left").out == "nothing was to be repaired\n"
    assert cli("verify", "left").code == 0


def test_a_store_is_copied_to_another_kind_and_back(two: Cli) -> None:
    lines = f"jsonl://{two.work}/lines?compression=zstd"
    two("fork", "alpha")
    done = two("store", "copy", f"sqlite:///{two.database}", lines, "--json").json
    assert len(done["copied"]) == 3
    assert done["failed"] == {}
    again = two("store", "copy", f"sqlite:///{two.database}", lines)
    assert "0 events were new" in again.out
    heads = {row["session"]: row["head"] for row in two("verify", "--json").json}
    assert {row["session"]: row["head"] for row in two("verify", "--json", "--store", lines).json} == heads
    assert two("store", "check", "--store", lines).code == 0


def test_copies_of_a_store_are_listed_as_their_originals(two: Cli) -> None:
    for _ in range(3):  # so quickly one after another that some are of one moment
        two("fork", "alpha", "--json")
        two("fork", "beta", "--json")
    two("delete", "beta", "--yes")
    lines, back = f"jsonl://{two.work}/lines", f"sqlite://{two.work}/back.db"
    own = f"sqlite:///{two.database}"
    for source, target in ((own, lines), (lines, back), (own, back)):
        done = two("store", "copy", source, target)
        assert "8 sessions copied, 1 of them into the trash" in done.out, done
        assert rows(two, target) == rows(two, own)
        assert rows(two, target, "--trash") == rows(two, own, "--trash")


def rows(cli: Cli, url: str, *more: str) -> list[tuple[object, ...]]:
    """Give what a list shows that a copy keeps, in its order."""
    keys = ("id", "updatedAt", "events", "title", "preview")
    found = cli("sessions", "--json", "--store", url, *more).json
    return [tuple(row[key] for key in keys) for row in found]


@pytest.mark.parametrize("kind", ["sqlite", "jsonl"])
def test_a_store_is_not_copied_onto_itself(two: Cli, kind: str) -> None:
    url = f"sqlite:///{two.database}"
    other = f"sqlite:{two.work}/../sessions.db"
    if kind == "jsonl":
        url, other = f"jsonl://{two.work}/lines", f"jsonl:{two.work}/lines?compression=zstd"
        two("store", "copy", f"sqlite:///{two.database}", url)
    before = two("sessions", "--json", "--store", url).json
    for target in (url, other):
        done = two("store", "copy", url, target)
        assert done.code == 2
        assert "copied from" in done.err
    assert two("sessions", "--json", "--store", url).json == before


def test_a_damaged_session_holds_up_no_other_copy(two: Cli) -> None:
    damage(two, 4)
    done = two("store", "copy", f"sqlite:///{two.database}", f"jsonl://{two.work}/lines")
    assert done.code == 1
    assert "event 4" in done.err
    assert "beta" in ids(two, "--store", f"jsonl://{two.work}/lines")


def test_check_finds_what_is_wrong(two: Cli) -> None:
    assert "all is well" in two("store", "check").out
    damage(two, 4)
    done = two("store", "check")
    assert done.code == 1
    assert "session alpha: event 4" in done.out


def test_gc_shows_before_it_removes(cli: Cli) -> None:
    async def fill() -> None:
        async with open_store(f"sqlite:///{cli.database}") as store, await store.create() as session:
            session.blobs.put(b"forgotten")
            await session.flush()

    asyncio.run(fill())
    assert cli("store", "gc").out == "nothing to remove\n"
    with closing(sqlite3.connect(cli.database)) as connection, connection:
        connection.execute("UPDATE blob SET put_at = put_at - 7200000")
    assert "1 blob with 9 bytes could be removed" in cli("store", "gc").out
    assert cli("store", "gc", "--remove", "--json").json["removed"] is True
    assert cli("store", "gc").out == "nothing to remove\n"


def test_the_list_says_who_writes_a_session(two: Cli) -> None:
    async def look() -> None:
        async with open_store(f"sqlite:///{two.database}") as store, await store.open("alpha", "write"):
            (row,) = [row for row in two("sessions", "--json").json if row["id"] == "alpha"]
            assert "pid " in row["holder"]
            assert "pid " in two("sessions").out

    asyncio.run(look())


def test_a_copy_from_a_store_that_is_not_there_is_refused_and_makes_none(cli: Cli) -> None:
    missing = cli.work.parent / "mistyped.db"
    done = cli("store", "copy", f"sqlite:///{missing}", f"jsonl:///{cli.work.parent / 'copy'}")
    assert done.code == 1, done
    assert "there is no store at" in done.err
    assert not missing.exists()
