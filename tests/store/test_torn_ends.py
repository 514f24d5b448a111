"""A log that is cut off anywhere, or ends in rubbish, opens with its sound beginning; the rest is set aside."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.conftest import URLS
from tests.store.tampering import log_file, tampering

from everlog import SessionCorrupt, open_store
from everlog.store.disk import Disk
from everlog.store.jsonl.backend import JsonlBackend
from everlog.store.jsonl.framed import FramedLog
from everlog.store.jsonl.logfile import LogFile
from everlog.store.jsonl.plain import PlainLog
from everlog.store.urls import path_of
from everlog.store.verifying import verify
from everlog.testing.store_contract import batch_of

LINES = ["jsonl", "jsonl-zstd"]


@pytest.fixture(params=LINES)
def lines_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Both kinds of JSONL store."""
    return URLS[request.param].format(tmp_path)


async def told(url: str, turns: int = 2) -> tuple[str, list[bytes]]:
    """Store a session, in more than one batch, and give its id and the bytes of its events."""
    async with open_store(url) as store, await store.create({"id": "s", "createdAt": 1_000}) as session:
        for n in range(turns):
            plain_turn(Story(session), f"question {n}")
            await session.flush()
    return session.id, [event.to_json() for event in session.events]


async def test_a_file_cut_at_any_byte_gives_its_sound_beginning(lines_url: str) -> None:
    id, whole = await told(lines_url, turns=1)
    root, path = path_of(lines_url), log_file(lines_url)
    content = path.read_bytes()
    kind = PlainLog if path.suffix == ".jsonl" else FramedLog
    header_size = first_size(path, kind)
    with closing(JsonlBackend(root, kind, Unsynced())) as backend:
        for size in range(len(content)):
            path.write_bytes(content[:size])
            for side in (*path.parent.glob("torn-*"), *path.parent.glob("checkpoint-*")):
                side.unlink()
            if size < header_size:
                lost_header(backend, id)
            else:
                sound_beginning(backend, id, whole, content[:size])


def lost_header(backend: JsonlBackend, id: str) -> None:
    """See that a session whose header was cut is told as damaged, and has no events."""
    with closing(backend.reader(id)) as reader:
        assert reader.end().next_seq == 0
        with pytest.raises(SessionCorrupt):
            _ = reader.header
    with pytest.raises(SessionCorrupt):
        backend.acquire(id)


def sound_beginning(backend: JsonlBackend, id: str, whole: list[bytes], content: bytes) -> None:
    """See that what is whole is there, the rest is set aside, and the session goes on."""
    folder = backend.folders.session(id)
    with closing(backend.reader(id)) as reader:
        torn, kept = reader.torn, [record.data for record in reader.read(0, reader.end().next_seq)]
    assert kept == whole[: len(kept)]
    lease = backend.acquire(id)
    assert (lease.torn is None) == (torn is None)
    lease.append_synced(batch_of(id, lease.end, "it goes on"))
    lease.release()
    with closing(backend.reader(id)) as reader:
        assert verify(id, reader).faults == ()
        assert reader.end().next_seq == len(kept) + 1
    aside = b"".join(side.read_bytes() for side in folder.glob("torn-*"))
    assert len(aside) == (torn.size if torn else 0)
    assert content.endswith(aside)


def first_size(path: Path, kind: type[LogFile]) -> int:
    """Give how long the header is in a log file."""
    with closing(kind(os.open(path, os.O_RDONLY))) as log:
        return log.place_after(0)


class Unsynced(Disk):
    """A disk whose syncs cost nothing; what survives a loss of power is not asked here."""

    def sync(self, descriptor: int) -> None: ...
    def sync_folder(self, path: Path) -> None: ...


ENDS = {
    "half a line": b'{"a":1,"b',
    "half a line and a newline": b'{"a":1,"b\n',
    "nothing but a newline": b"\n",
    "zero bytes": b"\x00" * 512,
    "zero bytes and a newline": b"\x00" * 512 + b"\n",
    "a whole line that no store wrote": b'{"seq":99,"type":"turn/start","time":1,"data":{"turn":9}}\n',
    "bytes that are no text": bytes(range(128, 256)),
}


@pytest.mark.parametrize("end", ENDS)
async def test_what_is_torn_is_set_aside_and_the_next_line_stands_alone(lines_url: str, end: str) -> None:
    id, whole = await told(lines_url)
    path = log_file(lines_url)
    with open(path, "ab") as file:
        file.write(ENDS[end])
    async with open_store(lines_url) as store:
        async with await store.open(id) as seen:
            assert seen.torn is not None
            assert seen.torn.size == len(ENDS[end])
            assert [event.to_json() for event in seen.events] == whole
        assert path.read_bytes().endswith(ENDS[end])
        async with await store.open(id, "write") as session:
            assert session.torn is not None
            assert session.torn.kept_in is not None
            assert Path(session.torn.kept_in).read_bytes() == ENDS[end]
            assert "set aside" in str(session.torn)
            plain_turn(Story(session), "it goes on")
        async with await store.open(id) as seen:
            assert seen.torn is None
            assert [event.to_json() for event in seen.events][: len(whole)] == whole
            assert seen.ledger.turns.last == 3
        assert (await store.verify(id)).sound


async def test_the_last_record_counts_as_torn_when_its_checksum_is_wrong(disk_url: str) -> None:
    id, whole = await told(disk_url)

    def spoilt(rows: list[bytes]) -> list[bytes]:
        return [*rows[:-1], rows[-1].replace(b"completed", b"campleted")]

    if disk_url.endswith("zstd"):
        with open(log_file(disk_url), "r+b") as file:
            file.seek(-3, 2)
            file.write(b"\xff")
    else:
        tampering(disk_url).rewrite(spoilt)
    async with open_store(disk_url) as store:
        async with await store.open(id) as seen:
            assert seen.torn is not None
            count = seen.stored
            assert [event.to_json() for event in seen.events][:count] == whole[:count]
        async with await store.open(id, "write") as session:
            assert session.torn is not None
            assert not session.ledger.turns.is_open
            assert [event.to_json() for event in session.events][:count] == whole[:count]
        assert (await store.verify(id)).sound


async def test_a_byte_order_mark_before_the_header_hides_no_session(tmp_path: Path) -> None:
    url = URLS["jsonl"].format(tmp_path)
    id, whole = await told(url)
    path = log_file(url)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    async with open_store(url) as store:
        async with await store.create() as other:
            plain_turn(Story(other))
        listed = await store.list()
        assert {summary.id for summary in listed} == {id, other.id}
        assert [summary.damage for summary in listed] == [None, None]
        async with await store.open(id) as seen:
            assert [event.to_json() for event in seen.events] == whole


async def test_lines_that_an_editor_ended_with_a_carriage_return_too_are_read_and_gone_on_with(tmp_path: Path) -> None:
    url = URLS["jsonl"].format(tmp_path)
    id, whole = await told(url)
    path = log_file(url)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    async with open_store(url) as store:
        async with await store.open(id, "write") as session:
            assert session.torn is None
            plain_turn(Story(session), "it goes on")
        async with await store.open(id) as seen:
            assert [event.to_json() for event in seen.events][: len(whole)] == whole
            assert seen.ledger.turns.last == 3
        assert (await store.verify(id)).sound


@pytest.mark.parametrize("kind", ["sqlite", "jsonl"])
async def test_whole_records_before_the_last_that_were_changed_are_damaged_and_not_torn(
    kind: str, tmp_path: Path
) -> None:
    url = URLS[kind].format(tmp_path)
    id, whole = await told(url)
    last = len(whole) - 1
    tampering(url).rewrite(lambda rows: [*rows[:-3], *(row.replace(b'"turn":2', b'"turn":3') for row in rows[-3:])])
    async with open_store(url) as store:
        assert [fault.seq for fault in (await store.verify(id)).faults] == [last - 2, last - 1]
        with pytest.raises(SessionCorrupt) as refused:
            await store.open(id, "write")
        assert refused.value.seq == last - 1
        assert [fault.seq for fault in (await store.verify(id)).faults] == [last - 2, last - 1]


@pytest.mark.parametrize("bad", [b"", b"\x00" * 100, b"no JSON\n", b'{"everlog":"session"}\n', b'{"everlog":"session'])
async def test_a_session_with_a_bad_header_is_listed_as_bad_and_hides_no_other(lines_url: str, bad: bytes) -> None:
    await told(lines_url)
    path = log_file(lines_url)
    path.write_bytes(bad)
    path_of(lines_url).joinpath("index.db").unlink()
    async with open_store(lines_url) as store:
        async with await store.create({"id": "good", "createdAt": 1}) as other:
            plain_turn(Story(other))
        listed = {summary.id: summary.damage for summary in await store.list()}
        assert listed["good"] is None
        assert listed["s"] is not None
        for mode in ("read", "write"):
            with pytest.raises(SessionCorrupt) as refused:
                await store.open("s", mode)
            assert refused.value.seq is None
        assert path.read_bytes() == bad


async def test_a_session_of_a_later_version_is_listed_with_the_reason_and_hides_no_other(tmp_path: Path) -> None:
    url = URLS["jsonl"].format(tmp_path)
    id, _ = await told(url)
    path = log_file(url)
    own = path.read_bytes()
    path.write_bytes(own.replace(b'"version":1', b'"version":2', 1))
    path_of(url).joinpath("index.db").unlink()
    async with open_store(url) as store:
        async with await store.create({"id": "good", "createdAt": 1}) as other:
            plain_turn(Story(other), "the words of the other")
        listed = {summary.id: summary.damage for summary in await store.list()}
        assert listed["good"] is None
        assert "this build reads versions up to 1" in (listed[id] or "")
        assert [hit.session for hit in await store.search("words of the other")] == ["good"]
        path.write_bytes(own)
        assert [summary.damage for summary in await store.list()] == [None, None]


async def test_a_compressed_session_that_cannot_be_read_here_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = URLS["jsonl-zstd"].format(tmp_path)
    async with open_store(packed) as store, await store.create({"id": "packed", "createdAt": 1}) as session:
        plain_turn(Story(session))
    url = URLS["jsonl"].format(tmp_path)
    path_of(url).joinpath("index.db").unlink()
    async with open_store(url) as store:
        async with await store.create({"id": "plain", "createdAt": 1}) as session:
            plain_turn(Story(session), "plain words")
        with monkeypatch.context() as without:
            without.delitem(sys.modules, "everlog.store.jsonl.framed")
            without.setitem(sys.modules, "zstandard", None)
            listed = {summary.id: summary.damage for summary in await store.list()}
            assert listed["plain"] is None
            assert "pip install" in (listed["packed"] or "")
            assert [hit.session for hit in await store.search("plain words")] == ["plain"]
        assert [summary.damage for summary in await store.list()] == [None, None]


async def test_a_header_that_was_changed_is_told_by_its_checksum(disk_url: str) -> None:
    id, _ = await told(disk_url)
    if disk_url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(disk_url))) as connection, connection:
            connection.execute("UPDATE session SET header = replace(CAST(header AS TEXT), '1000', '1001')")
    elif not disk_url.endswith("zstd"):
        path = log_file(disk_url)
        path.write_bytes(path.read_bytes().replace(b'"createdAt":1000', b'"createdAt":1001', 1))
    else:
        return
    async with open_store(disk_url) as store:
        with pytest.raises(SessionCorrupt) as refused:
            await store.open(id)
        assert refused.value.seq is None
        assert not (await store.verify(id)).sound
        assert (await store.list())[0].id == id


async def test_a_folder_that_holds_no_log_is_shown_as_damaged(lines_url: str) -> None:
    async with open_store(lines_url) as store:
        path_of(lines_url).joinpath("sessions", "empty").mkdir()
        (shown,) = await store.list()
        assert (shown.id, shown.damage) == ("empty", "its header is damaged: its log is missing from its folder")
        with pytest.raises(SessionCorrupt, match="its log is missing"):
            await store.open("empty")
