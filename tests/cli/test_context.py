"""`everlog context` draws what the model sees, and lets one open what stands behind a summary."""

from __future__ import annotations

import asyncio

import pytest
from tests.cli.conftest import Cli
from tests.cli.tales import HOSTILE
from tests.session.stories import Story, plain_turn

from everlog import open_store


async def tell(cli: Cli) -> None:
    async with open_store(f"sqlite:///{cli.database}") as store, await store.create({"id": "long"}) as session:
        story = Story(session)
        story.turn(), story.step(), story.system("be brief"), story.header(), story.context(2_000)
        story.end_step(), story.end_turn()
        for number in range(4):
            plain_turn(story, f"question {number} {HOSTILE}", "answer " * 50)
        nodes = session.surface.nodes
        story.compact(nodes[1], nodes[4], f"a summary {HOSTILE}")


@pytest.fixture
def long(cli: Cli) -> Cli:
    asyncio.run(tell(cli))
    return cli


def test_the_bar_the_kinds_and_what_was_shortened_are_told(long: Cli) -> None:
    done = long("context", "long")
    assert done.code == 0
    lines = done.out.splitlines()
    assert "session long  p/m" in lines[0]
    assert set(lines[1]) <= {"█", "░"}
    assert len(lines[1]) == 60
    assert "of 2,000" in lines[2]
    assert [line.split()[1] for line in lines if line.startswith("■")] == [
        "system",
        "tools",
        "summaries",
        "messages",
        "answers",
    ]
    [shortened] = [line for line in lines if "originals" in line]
    assert "for 4 originals" in shortened
    assert "\x1b[2J" not in done.out


def test_the_originals_behind_a_summary_can_be_opened(long: Cli) -> None:
    parts = long("context", "long", "--json").json["parts"]
    summary = next(part for part in parts if part["standsFor"])
    behind = long("context", "long", "--open", str(summary["seq"]), "--json").json
    assert [item["part"]["seq"] for item in behind] == summary["standsFor"]
    assert behind[0]["event"]["data"]["content"][0]["text"].startswith("question 0")
    told = long("context", "long", "--open", str(summary["seq"])).out
    assert "stands for 4 messages" in told
    assert "question 1" in told
    refused = long("context", "long", "--open", str(parts[0]["seq"]))
    assert refused.code == 1
    assert "stands for no other" in refused.err


def test_it_is_told_as_of_any_event(long: Cli) -> None:
    now = long("context", "long", "--json").json
    then = long("context", "long", "--at", str(now["at"] - 5), "--json").json
    assert then["total"] > now["total"]
    assert all(not part["standsFor"] for part in then["parts"])
    assert long("context", "long", "--at", "99999").code == 1


def test_every_part_is_listed_when_asked_for(long: Cli) -> None:
    assert len(long("context", "long", "--nodes").out.splitlines()) > len(long("context", "long").out.splitlines()) + 3


def test_a_session_without_a_request_has_a_context_too(cli: Cli) -> None:
    async def empty() -> None:
        async with open_store(f"sqlite:///{cli.database}") as store, await store.create({"id": "empty"}):
            pass

    asyncio.run(empty())
    assert "no request yet" in cli("context", "empty").out
    assert cli("context", "empty", "--json").json["total"] == 0


def test_the_bar_is_no_wider_than_the_terminal(long: Cli) -> None:
    done = long("context", "--last", env={"COLUMNS": "40"})
    bar = next(line for line in done.out.splitlines() if line.startswith(("█", "░")))
    assert len(bar) == 40
    assert all(line.startswith("■") for line in done.out.splitlines() if "message" in line)
