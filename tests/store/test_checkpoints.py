"""Checkpoints make opening quick, and change no answer: not when they are gone, damaged, or of another log."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.tampering import Rows, tampering

from everlog import open_store, to_json
from everlog.session import Event, Log, restoring
from everlog.store import checkpoints
from everlog.store.spacing import APART, apart, crowded
from everlog.store.store import Store
from everlog.store.urls import path_of

Change = Callable[[bytes], bytes | None]


def rewrite_checkpoints(url: str, change: Change) -> int:
    """Change each checkpoint of a store, or remove those of which None is left; give how many there were."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(url))) as connection, connection:
            rows = connection.execute("SELECT at, data FROM checkpoint").fetchall()
            for at, data in rows:
                changed = change(data)
                if changed is None:
                    connection.execute("DELETE FROM checkpoint WHERE at = ?", (at,))
                else:
                    connection.execute("UPDATE checkpoint SET data = ? WHERE at = ?", (changed, at))
            return len(rows)
    found = list(path_of(url).glob("sessions/*/checkpoint-*"))
    for path in found:
        changed = change(path.read_bytes())
        path.unlink() if changed is None else path.write_bytes(changed)
    return len(found)


async def told(store: Store, turns: int = 80) -> str:
    async with await store.create({"id": "s", "createdAt": 1}) as session:
        story = Story(session)
        for n in range(turns):
            if n % 10 == 3:
                story.queue(f"waits {n}")
            plain_turn(story, f"question {n}")
            if n % 25 == 20:
                session.keep_checkpoint()
        nodes = session.surface.nodes
        story.compact(nodes[2], nodes[40])
        session.project("inbox")
    return session.id


async def answers(store: Store, id: str) -> tuple[Any, ...]:
    """Give everything that a log can be asked that a checkpoint may have a part in."""
    async with await store.open(id) as log:
        held = [
            log.next_seq,
            log.surface.nodes,
            log.surface.generation,
            log.surface.system,
            log.ledger.to_bytes(),
            [message.to_json() for message in log.messages()],
            to_json(log.request_header()),
            log.project("inbox"),
            log.project("usage"),
            list(log.project("surface", at=200).nodes),
            log.unknown_types,
        ]
    return tuple(map(str, held))


SPOILT: dict[str, Change] = {
    "gone": lambda data: None,
    "empty": lambda data: b"",
    "cut short": lambda data: data[: len(data) // 2],
    "with a bit turned": lambda data: bytes([*data[:50], data[50] ^ 4, *data[51:]]),
    "full of zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("spoilt", SPOILT)
async def test_they_change_no_answer_when_they_are(disk_url: str, spoilt: str) -> None:
    async with open_store(disk_url) as store:
        id = await told(store)
        before = await answers(store, id)
    assert rewrite_checkpoints(disk_url, SPOILT[spoilt]) >= 1
    if disk_url.startswith("jsonl"):
        for places in path_of(disk_url).glob("sessions/*/places"):
            content = SPOILT[spoilt](places.read_bytes())
            places.unlink() if content is None else places.write_bytes(content)
    async with open_store(disk_url) as store:
        assert await answers(store, id) == before
        async with await store.open(id, "write") as session:
            plain_turn(Story(session), "it goes on")
        assert (await store.verify(id)).sound


async def test_one_of_another_version_is_not_used(disk_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(disk_url) as store:
        id = await told(store)
        before = await answers(store, id)
        monkeypatch.setattr(restoring, "STATE_VERSION", restoring.STATE_VERSION + 1)
        assert await answers(store, id) == before


async def test_one_that_does_not_fit_the_chain_is_not_used(disk_url: str) -> None:
    async with open_store(disk_url) as store:
        id = await told(store)
        async with await store.create({"id": "other", "createdAt": 1}) as other:
            for n in range(100):
                plain_turn(Story(other), f"something else {n}")
        before = await answers(store, "other")
    if disk_url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(disk_url))) as connection, connection:
            (mine, theirs) = connection.execute("SELECT key FROM session ORDER BY key").fetchall()
            connection.execute("DELETE FROM checkpoint WHERE at >> 32 = ?", theirs)
            connection.execute(
                "UPDATE checkpoint SET at = at - ? * 4294967296 + ? * 4294967296 WHERE at >> 32 = ?",
                (*mine, *theirs, *mine),
            )
    else:
        sessions = path_of(disk_url) / "sessions"
        for path in sessions.glob("other/checkpoint-*"):
            path.unlink()
        for path in (sessions / id).glob("checkpoint-*"):
            path.rename(sessions / "other" / path.name)
    async with open_store(disk_url) as store:
        assert await answers(store, "other") == before


async def test_opening_reads_only_what_stands_behind_the_last_one_and_on_the_surface(disk_url: str) -> None:
    """The first events are damaged, and nobody notices who does not look at them."""
    async with open_store(disk_url) as store:
        id = await told(store)
        before = await answers(store, id)

    def spoil(rows: Rows) -> Rows:
        return [*rows[:6], rows[6].replace(b'"time"', b'"tame"'), *rows[7:]]

    tampering(disk_url).rewrite(spoil)
    async with open_store(disk_url) as store:
        async with await store.open(id, "write") as session:
            assert [message.to_json() for message in session.messages()]
            plain_turn(Story(session), "it goes on")
        assert not (await store.verify(id)).sound
        assert len(before) == 11


async def test_a_fork_far_back_begins_from_a_checkpoint_before_it(disk_url: str) -> None:
    async with open_store(disk_url) as store:
        id = await told(store)
        async with await store.fork(id, at=400, open_turn="close") as child:
            inherited = [event.to_json() for event in child.events][:401]
        async with await store.open(id) as seen:
            assert [event.to_json() for event in seen.events][:401] == inherited
        whole = await answers(store, child.id)
    rewrite_checkpoints(disk_url, lambda data: None)
    async with open_store(disk_url) as store:
        assert await answers(store, child.id) == whole


class Counted:
    """Counts the events of a log, and how many of them it was given."""

    name = "test/counted"
    version = 1

    def __init__(self) -> None:
        self.given = 0

    def init(self) -> dict[str, int]:
        return {"events": 0}

    def apply(self, state: dict[str, int], event: Event) -> None:
        self.given += 1
        state["events"] += 1

    def view(self, state: dict[str, int], log: Log) -> int:
        return state["events"]


@pytest.mark.parametrize("live", [False, True], ids=["of a stored session", "of a live one"])
async def test_a_fork_does_not_forget_what_was_folded_before_it_though_nobody_asks_it(
    disk_url: str, live: bool
) -> None:
    counted = Counted()
    async with open_store(disk_url) as store:
        id = await told(store)
        async with await store.open(id, "write") as parent:
            plain_turn(Story(parent), "to be reloaded")
            first = parent.project(counted)
            for number in range(40):
                plain_turn(Story(parent), f"more {number}")
            if live:
                child = await store.fork(id)
        if not live:
            child = await store.fork(id)
        for number in range(40):
            plain_turn(Story(child), f"again {number}")
        await child.close()
        async with await store.open(child.id, "write") as again:
            counted.given = 0
            assert again.project(counted) == again.next_seq
            assert counted.given <= again.next_seq - first


def test_old_ones_are_kept_well_apart_and_the_newest_always() -> None:
    kept: list[int] = []
    for seq in range(0, 20 * APART, 1_000):
        kept.append(seq)
        gone = crowded(kept)
        assert seq not in gone
        kept = [one for one in kept if one not in gone]
    assert len(kept) <= 30
    assert all(b - a >= apart(a) for a, b in pairwise(kept[:-1]))
    assert apart(kept[-1]) == APART


def test_a_state_is_given_back_whole(tmp_path: Path) -> None:
    packed = checkpoints.pack(7, b"\x01" * 20, {"b", "a"}, b'{"x":1}\n{"y":2}')
    found = checkpoints.unpack(packed)
    assert found is not None
    assert (found.seq, found.chain, found.types) == (7, b"\x01" * 20, {"a", "b"})
    assert found.state == b'{"x":1}\n{"y":2}'
    for at in range(len(packed)):
        assert checkpoints.unpack(packed[:at]) is None
