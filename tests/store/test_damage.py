"""What is damaged in the middle of a log is found, named, refused to whoever reads it, and salvaged around."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.tampering import Rows, log_file, tampering

from everlog import SessionCorrupt, SessionNotFound, open_store
from everlog.session.messages import Text
from everlog.store import SessionExists, Store
from everlog.store.chain import Record
from everlog.store.jsonl.framed import FramedLog
from everlog.store.sqlite.reader import SqliteReader
from everlog.store.urls import path_of

AT = 12


def changed(rows: Rows) -> Rows:
    rows[AT] = rows[AT].replace(b"turn", b"tern", 1)
    return rows


def dropped(rows: Rows) -> Rows:
    in_lines = b'"sum"' in rows[0]
    return [*rows[:AT], *([] if in_lines else [b""]), *rows[AT + 1 :]]


def dropped_and_closed_up(rows: Rows) -> Rows:
    return rows[:AT] + rows[AT + 1 :]


def repeated(rows: Rows) -> Rows:
    return [*rows[:AT], rows[AT - 1], *rows[AT:]]


def swapped(rows: Rows) -> Rows:
    rows[AT], rows[AT + 1] = rows[AT + 1], rows[AT]
    return rows


def moved(rows: Rows) -> Rows:
    row = rows.pop(AT)
    return [*rows[:3], row, *rows[3:]]


def emptied(rows: Rows) -> Rows:
    rows[AT] = b" " * len(rows[AT])
    return rows


DAMAGE = [changed, dropped, dropped_and_closed_up, repeated, swapped, moved, emptied]


async def told(store: Store) -> tuple[str, list[bytes]]:
    """Store a session of a few turns, without a checkpoint, and give its id and bytes."""
    async with await store.create({"cwd": "/work"}) as session:
        for n in range(6):
            plain_turn(Story(session), f"question {n}")
    return session.id, [event.to_json() for event in session.events]


@pytest.mark.parametrize("damage", DAMAGE)
async def test_damage_in_the_middle_is_found_and_named(disk_url: str, damage: Callable[[Rows], Rows]) -> None:
    async with open_store(disk_url) as store:
        id, _ = await told(store)
    tampering(disk_url).rewrite(damage)
    async with open_store(disk_url) as store:
        found = await store.verify(id)
        assert not found.sound
        assert found.head is None
        assert found.faults[0].seq == (3 if damage is moved else AT)


@pytest.mark.parametrize("damage", DAMAGE)
async def test_whoever_reads_a_damaged_event_is_refused_with_its_place(
    disk_url: str, damage: Callable[[Rows], Rows]
) -> None:
    async with open_store(disk_url) as store:
        id, whole = await told(store)
    tampering(disk_url).rewrite(damage)
    async with open_store(disk_url) as store:
        for mode in ("read", "write"):
            with pytest.raises(SessionCorrupt) as refused:
                await store.open(id, mode)
            assert refused.value.seq == (3 if damage is moved else AT)
            assert "--salvage" in str(refused.value)
        assert [summary.id for summary in await store.list()] == [id]
        assert len(whole) > AT


@pytest.mark.parametrize("damage", DAMAGE)
async def test_salvage_keeps_the_rest_and_leaves_the_original(disk_url: str, damage: Callable[[Rows], Rows]) -> None:
    async with open_store(disk_url) as store:
        id, whole = await told(store)
    tampering(disk_url).rewrite(damage)
    async with open_store(disk_url) as store:
        before = await store.verify(id)
        report = await store.salvage(id)
        assert await store.verify(id) == before
        async with await store.open(report.session, "write") as found:
            kept = [event.to_json() for event in found.events]
            assert found.header.parent_session == id
            assert found.header.cwd == "/work"
        lost = {item.seq for item in report.lost}
        assert len(lost) <= (1 if damage in (changed, dropped, dropped_and_closed_up, emptied) else 0)
        for seq, own in enumerate(whole):
            assert seq in lost or kept[seq] == own
        found_again = await store.verify(report.session)
        assert found_again.sound
        assert found_again.violations == ()


async def test_events_behind_a_checkpoint_are_read_only_when_asked_for(disk_url: str) -> None:
    async with open_store(disk_url) as store, await store.create() as session:
        for n in range(60):
            plain_turn(Story(session), f"question {n}")
        compacted = session.next_seq
        nodes = session.surface.nodes
        summary = {"id": "c", "role": "user", "content": [{"type": "text", "text": "so far"}]}
        session.append_json(
            "user/message",
            {**summary, "source": {"kind": "user"}},
            {"op": "replace", "startSeq": nodes[1], "endSeq": nodes[-1]},
            list(nodes[1:]),
        )
        plain_turn(Story(session), "and now")
    tampering(disk_url).rewrite(changed)
    async with open_store(disk_url) as store, await store.open(session.id, "write") as again:
        assert again.next_seq > compacted
        texts = [block.text for message in again.messages() for block in message.content if isinstance(block, Text)]
        assert "so far" in texts
        plain_turn(Story(again), "it goes on")
        await again.flush()
        with pytest.raises(SessionCorrupt) as refused:
            again.project("messages", at=again.next_seq - 1)
        assert refused.value.seq == AT
        with pytest.raises(SessionCorrupt):
            _ = again.events[AT]
        assert again.events[AT + 1].seq == AT + 1


async def test_the_head_that_was_kept_tells_of_what_the_log_itself_does_not(disk_url: str) -> None:
    from everlog.store.verifying import read_head

    async with open_store(disk_url) as store:
        id, _ = await told(store)
        first = (await store.verify(id)).head
        assert first is not None
        async with await store.open(id, "write") as session:
            plain_turn(Story(session), "more")
        later = (await store.verify(id)).head
        assert later is not None
        assert (await store.verify(id, read_head(first))).sound
        assert (await store.verify(id, read_head(later))).sound
    count = read_head(first).next_seq
    if not disk_url.startswith("sqlite"):
        tampering(disk_url).rewrite(lambda rows: rows[: count - 4])
        async with open_store(disk_url) as store:
            assert (await store.verify(id)).sound
            assert not (await store.verify(id, read_head(later))).sound
            assert not (await store.verify(id, read_head(first))).sound


@pytest.fixture
def few_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is asked for rows a thousand times at most."""
    rows, asked = SqliteReader._rows, 0

    def counted(self: SqliteReader, first: int, stop: int) -> dict[int, Record]:
        nonlocal asked
        asked += 1
        assert asked < 1_000
        return rows(self, first, stop)

    monkeypatch.setattr(SqliteReader, "_rows", counted)


def noting(url: str, count: object) -> None:
    with closing(sqlite3.connect(path_of(url))) as connection, connection:
        connection.execute("UPDATE session SET next_seq = ?", (count,))


@pytest.mark.parametrize("listed", [True, False], ids=["listed-before", "list-made-anew"])
@pytest.mark.parametrize("kind", ["", "?compression=zstd"], ids=["plain", "zstd"])
async def test_a_session_whose_log_was_taken_away_shows_as_damaged_and_hides_no_other(
    tmp_path: Path, kind: str, listed: bool
) -> None:
    url = f"jsonl://{tmp_path}/lines{kind}"
    async with open_store(url) as store:
        bad, _ = await told(store)
    log_file(url).unlink()
    async with open_store(url) as store:
        good, _ = await told(store)
    if not listed:
        (tmp_path / "lines" / "index.db").unlink()
    async with open_store(url) as store:
        assert {summary.id for summary in await store.list()} == {bad, good}
        assert {hit.session for hit in await store.search("question")} == {good}
        missing = "the header: its log is missing from its folder"
        assert (await store.check()).faults == (f"session {bad}: {missing}",)
        assert [str(fault) for fault in (await store.verify(bad)).faults] == [missing]
        for mode in ("read", "write"):
            with pytest.raises(SessionCorrupt, match="its log is missing"):
                await store.open(bad, mode)
        await store.delete(bad)
        await store.purge(bad)
        assert [summary.id for summary in await store.list()] == [good]


@pytest.mark.parametrize("count", [5_000, 999_999, 4_000_000_000])
async def test_a_count_of_events_that_is_too_large_is_told_and_not_walked(
    tmp_path: Path, few_reads: None, count: int
) -> None:
    url = f"sqlite://{tmp_path}/sessions.db"
    async with open_store(url) as store:
        id, events = await told(store)
    noting(url, count)
    async with open_store(url) as store:
        (fault,) = (await store.check()).faults
        gap = f"it is missing, and so are those behind it up to event {count - 2}"
        assert fault == f"session {id}: event {len(events)}: {gap}"
        saved = await store.salvage(id)
        assert saved.kept == len(events)
        assert len(saved.lost) == 1_000


async def test_what_stands_behind_a_long_gap_is_looked_at_too(tmp_path: Path, few_reads: None) -> None:
    url = f"sqlite://{tmp_path}/sessions.db"
    async with open_store(url) as store:
        id, events = await told(store)
    last = len(events) - 1
    with closing(sqlite3.connect(path_of(url))) as connection, connection:
        connection.execute(
            "UPDATE event SET at = at + 900000, data = replace(data, ?, ?) WHERE at = (SELECT max(at) FROM event)",
            (f'"seq":{last},', f'"seq":{last + 900_000},'),
        )
    noting(url, len(events) + 900_000)
    async with open_store(url) as store:
        verified = await store.verify(id)
        gap = f"it is missing, and so are those behind it up to event {last + 900_000 - 1}"
        assert str(verified.faults[0]) == f"event {last}: {gap}"


@pytest.mark.parametrize("count", [-1, 1 << 40, "many", (1 << 63) - 1])
async def test_a_count_that_none_can_be_is_told(tmp_path: Path, count: object) -> None:
    url = f"sqlite://{tmp_path}/sessions.db"
    async with open_store(url) as store:
        id, events = await told(store)
    noting(url, count)
    async with open_store(url) as store:
        (fault,) = (await store.check()).faults
        assert fault == f"session {id}: the header: it is said to have {count} events, which cannot be"
        with pytest.raises(SessionCorrupt):
            await store.open(id)
        assert (await store.salvage(id)).kept == len(events)
        assert {summary.events for summary in await store.list()} <= {
            0,
            count,
            len(events),
            len(events) + 1,
            len(events) + 2,
        }


@pytest.mark.parametrize("kind", ["", "?compression=zstd"], ids=["plain", "zstd"])
async def test_a_session_whose_id_cannot_be_read_answers_to_the_name_that_lists_show(tmp_path: Path, kind: str) -> None:
    url = f"jsonl://{tmp_path}/lines{kind}"
    async with open_store(url) as store:
        async with await store.create({"id": "My Talk"}) as session:
            plain_turn(Story(session), "question")
        count, shown = session.next_seq, log_file(url).parent.name
        with pytest.raises(SessionNotFound):
            await store.open(shown, "write")  # who can read its id calls it by that
    damage_header(log_file(url))
    (tmp_path / "lines" / "index.db").unlink()
    async with open_store(url) as store:
        (summary,) = await store.list()
        assert summary.id == shown
        assert summary.damage is not None
        assert shown.startswith("~my-talk-")
        (fault,) = (await store.verify(shown)).faults
        assert "header" in str(fault)
        for mode in ("read", "write"):
            with pytest.raises(SessionCorrupt):
                await store.open(shown, mode)
        with pytest.raises(SessionExists):
            await store.create({"id": shown})
        saved = await store.salvage(shown)
        assert (saved.kept, saved.lost) == (count, ())
        assert (await store.open(saved.session)).header.parent_session == shown
        await store.delete(shown)
        assert [summary.id for summary in await store.list(trashed=True)] == [shown]
        await store.restore(shown)
        await store.purge(shown)
        assert [summary.id for summary in await store.list()] == [saved.session]
        async with await store.create({"id": shown}) as session:
            assert session.id == shown


def damage_header(path: Path) -> None:
    """Change the id in a header, so that its checksum is wrong."""
    if path.suffix != ".zst":
        path.write_bytes(path.read_bytes().replace(b"My Talk", b"No Talk", 1))
        return
    with closing(FramedLog(os.open(path, os.O_RDONLY))) as log:
        line, start = log.header_line(), log.place_after(0)
        rest = path.read_bytes()[start:]
    path.write_bytes(FramedLog.encode_header(line.replace(b"My Talk", b"No Talk") + b"\n") + rest)
