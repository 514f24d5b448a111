"""Commands that look: sessions, show, request, fork and diff, in real processes on a real SQLite file."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest
from tests.cli.conftest import Cli, Done
from tests.session.stories import Story, plain_turn

from everlog import open_store
from everlog.session.payloads import SessionTitle
from everlog.store.urls import path_of


async def told(cli: Cli, id: str, *prompts: str, title: str | None = None) -> None:
    """Store a session with a turn for each prompt."""
    async with open_store(f"sqlite:///{cli.database}") as store, await store.create({"id": id}) as session:
        for prompt in prompts:
            plain_turn(Story(session), prompt, f"answer to {prompt}")
        if title is not None:
            session.append(SessionTitle(title=title))


@pytest.fixture
def three(cli: Cli) -> Cli:
    asyncio.run(told(cli, "alpha-1", "first", "second"))
    asyncio.run(told(cli, "alpha-2", "third", title="A title\x1b[2J"))
    asyncio.run(told(cli, "beta", "fourth"))
    return cli


def test_sessions_are_listed_those_used_last_first(three: Cli) -> None:
    assert [row["id"] for row in three("sessions", "--json").json] == ["beta", "alpha-2", "alpha-1"]
    lines = three("sessions").out.splitlines()
    assert lines[0].split()[0] == "SESSION"
    assert "A title␛[2J" in lines[2]
    assert lines[3].endswith("first")


def test_a_page_of_sessions_and_the_next(three: Cli) -> None:
    first = three("sessions", "--limit", "2", "--json").json
    rest = three("sessions", "--after", first[-1]["cursor"], "--json").json
    assert [row["id"] for row in [*first, *rest]] == ["beta", "alpha-2", "alpha-1"]


def test_sessions_are_found_by_what_was_said(three: Cli) -> None:
    assert {hit["session"] for hit in three("sessions", "--search", "answer second", "--json").json} == {"alpha-1"}
    assert "alpha-1" in three("sessions", "--search", "second").out


def test_a_session_is_named_by_a_unique_beginning_or_as_the_last(three: Cli) -> None:
    assert "› fourth" in three("show", "b").out
    assert "› fourth" in three("show", "--last").out
    assert "› first" in three("show", "alpha-1").out
    refused = three("show", "alpha")
    assert refused.code == 1
    assert "alpha-1" in refused.err
    assert "alpha-2" in refused.err


def test_a_session_is_shown_as_it_was_at_a_seq(three: Cli) -> None:
    log = three("show", "alpha-1", "--view", "log", "--json").json
    end = next(event["seq"] for event in log if event["type"] == "turn/end")
    before = three("show", "alpha-1", "--at", str(end)).out
    assert "› first" in before
    assert "second" not in before


def test_looking_where_there_is_no_store_yet_makes_none(cli: Cli) -> None:
    listed = cli("sessions")
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.startswith(f"no store at sqlite:///{cli.database} yet")
    assert cli("sessions", "--json").json == []
    assert cli("sessions", "--search", "x", "--json").json == []
    assert cli("verify").code == cli("stats").code == cli("store", "check").code == cli("store", "gc").code == 0
    assert cli("show", "alpha").code == 1
    assert not cli.database.exists()


def damage_header(url: str) -> None:
    """Change the header of the one session of a store behind its back."""
    path = path_of(url)
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE session SET header_sum = header_sum + 1")
        return
    (log,) = path.glob("sessions/*/events.jsonl")
    log.write_bytes(log.read_bytes().replace(b'"createdAt"', b'"createdOn"', 1))
    for index in path.glob("index.db*"):
        index.unlink()


@pytest.mark.parametrize("kind", ["sqlite", "jsonl"])
def test_the_list_marks_a_session_that_is_damaged_and_says_why(cli: Cli, kind: str) -> None:
    url = f"sqlite:///{cli.work}/x.db" if kind == "sqlite" else f"jsonl:///{cli.work}/x"
    cli.ran("- Hello.", "the first", "--store", url)
    damage_header(url)
    (row,) = [line for line in cli("sessions", "--store", url).out.splitlines() if "damaged" in line]
    assert "its header is damaged" in row
    (listed,) = cli("sessions", "--store", url, "--json").json
    assert listed["damage"].startswith("its header is damaged")


def test_looking_leaves_the_store_as_it_was(three: Cli) -> None:
    before = three("sessions", "--json").out
    for view in ("transcript", "steps", "log"):
        three("show", "alpha-1", "--view", view)
    three("request", "alpha-1", "--step", "1.1")
    assert three("sessions", "--json").out == before


def test_requests_are_listed_and_shown(three: Cli) -> None:
    assert [row["step"] for row in three("request", "alpha-1", "--json").json] == ["1.1.1", "2.1.1"]
    shown = three("request", "alpha-1", "--step", "2.1", "--json").json
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "user"]
    assert "first" in three("request", "alpha-1", "--step", "2.1").out


def test_a_body_that_no_adapter_here_can_derive_is_a_difference(three: Cli) -> None:
    done = three("request", "alpha-1", "--step", "1.1", "--wire")
    assert done.code == 1
    assert "no plugin here brings an adapter" in done.err


def test_a_fork_holds_the_beginning_and_leaves_the_parent_alone(three: Cli) -> None:
    before = three("show", "alpha-1", "--view", "log", "--json").out
    made = three("fork", "alpha-1", "--turn", "1", "--json").json
    assert made["filesRolledBack"] is False
    assert "› first" in three("show", made["id"]).out
    assert "second" not in three("show", made["id"]).out
    assert three("show", "alpha-1", "--view", "log", "--json").out == before
    lineage = three("show", made["id"], "--view", "lineage", "--json").json
    assert (lineage["parent"], lineage["inherited"]) == ("alpha-1", made["inheritedEvents"])


def test_a_fork_says_that_files_stay_as_they_are(three: Cli) -> None:
    assert "does not roll them back" in three("fork", "beta").out


def test_a_fork_inside_a_turn_is_refused_or_closes_it(three: Cli) -> None:
    refused = three("fork", "alpha-1", "--at", "2")
    assert refused.code == 1
    assert "nearest legal boundaries" in refused.err
    made = three("fork", "alpha-1", "--at", "2", "--close-open-turn", "--json").json
    log = three("show", made["id"], "--view", "log", "--json").json
    assert log[-1]["data"]["reason"]["kind"] == "forked"


def test_a_turn_that_has_not_ended_is_refused(three: Cli) -> None:
    refused = three("fork", "alpha-1", "--turn", "7")
    assert (refused.code, "2 turns that ended" in refused.err) == (1, True)


def test_a_diff_says_where_two_sessions_part(three: Cli) -> None:
    made = three("fork", "alpha-1", "--turn", "1", "--json").json
    diff: Done = three("diff", "alpha-1", made["id"], "--json")
    assert diff.json["common"] == made["inheritedEvents"]
    assert [event["type"] for event in diff.json["b"]["after"]] == ["session/end-seed"]
    assert "second" in json.dumps(diff.json["a"]["after"])
    text = three("diff", "alpha-1", made["id"]).out
    assert f"the first {made['inheritedEvents']} events are the same" in text
