"""Compressed logs: a frame that unpacks to more than the store writes is damage, and fills no memory."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from zlib import crc32

import pytest
import zstandard
from tests.session.stories import Story, plain_turn
from tests.store.conftest import URLS
from tests.store.tampering import log_file

from everlog import SessionCorrupt, WriteFailed, open_store
from everlog.session.header import new_header
from everlog.session.live import Session
from everlog.store import adding
from everlog.store.jsonl import framed
from everlog.store.jsonl.framed import MOST_UNPACKED, FramedLog

MIB = 1 << 20


@pytest.fixture
def framed_url(tmp_path: Path) -> str:
    return URLS["jsonl-zstd"].format(tmp_path)


def bomb(first_seq: int, events: int) -> bytes:
    """Make a frame, with its mark, that unpacks to a line of twice as much as there may be."""
    size = 2 * MOST_UNPACKED
    packing = zstandard.ZstdCompressor().compressobj(size=size)
    piece = b" " * MIB
    packed = b"".join(packing.compress(piece) for _ in range(size // MIB)) + packing.flush()
    fields = struct.pack("<4sQII", b"EVLG", first_seq, events, len(packed))
    return struct.pack("<II", 0x184D2A5E, 24) + fields + struct.pack("<I", crc32(fields)) + packed


@contextmanager
def little_memory() -> Iterator[None]:
    """See that not much memory is taken at any moment."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 32 * MIB
    finally:
        tracemalloc.stop()


async def told(url: str) -> list[bytes]:
    """Store a session of four turns, with a flush after each, and give its frames, the header's first."""
    async with open_store(url) as store, await store.create({"id": "s"}) as session:
        for n in range(4):
            plain_turn(Story(session), f"turn {n}")
            await session.flush()
    path = log_file(url)
    with closing(FramedLog(os.open(path, os.O_RDONLY))) as log:
        log.tail()
        content = path.read_bytes()
        return [content[frame.offset : frame.stop] for frame in log._frames]


def seq_of(frame: bytes) -> int:
    """Give the seq of the first event of a frame."""
    (seq,) = struct.unpack_from("<Q", frame, 12)
    return int(seq)


@pytest.mark.parametrize("at", [2, -1])
async def test_a_frame_that_unpacks_to_too_much_is_told_as_damage(framed_url: str, at: int) -> None:
    frames = await told(framed_url)
    seq = seq_of(frames[at])
    frames[at] = bomb(seq, 1)
    path = log_file(framed_url)
    path.write_bytes(b"".join(frames))
    for checkpoint in path.parent.glob("checkpoint-*"):
        checkpoint.unlink()
    with little_memory():
        async with open_store(framed_url) as store:
            for mode in ("read", "write"):
                with pytest.raises(SessionCorrupt, match="unpack to 536,870,912, where no more") as refused:
                    await store.open("s", mode)  # type: ignore[arg-type]
                assert refused.value.seq == seq
            found = await store.verify("s")
            assert any(fault.seq == seq and "unpack to" in fault.what for fault in found.faults)
            assert [summary.id for summary in await store.list()] == ["s"]
            salvaged = await store.salvage("s")
            assert salvaged.kept
            assert seq in [lost.seq for lost in salvaged.lost]
    assert path.read_bytes() == b"".join(frames)


async def test_a_header_that_unpacks_to_too_much_is_told_as_damage(framed_url: str) -> None:
    frames = await told(framed_url)
    log_file(framed_url).write_bytes(b"".join([bomb(0, 0), *frames[1:]]))
    with little_memory():
        async with open_store(framed_url) as store:
            for mode in ("read", "write"):
                with pytest.raises(SessionCorrupt, match="the file begins with a frame of"):
                    await store.open("s", mode)  # type: ignore[arg-type]


async def test_frames_that_are_large_are_not_held_all_at_once(framed_url: str) -> None:
    async with open_store(framed_url) as store, await store.create({"id": "s"}) as session:
        for _ in range(6):
            plain_turn(Story(session), "x" * 12 * MIB)
            await session.flush()
    with closing(FramedLog(os.open(log_file(framed_url), os.O_RDONLY))) as log:
        assert all(record.seal for record in log.read(0, log.tail().end.next_seq))
        assert sum(len(line) for held in log._held.values() for line in held.lines or []) < 40 * MIB


@pytest.mark.parametrize("text", ["x" * 50_000_000, "line\n" * 10_000_000], ids=["one letter", "lines"])
async def test_an_event_of_fifty_megabytes_is_kept_and_read(framed_url: str, text: str) -> None:
    async with open_store(framed_url) as store:
        async with await store.create({"id": "s"}) as session:
            plain_turn(Story(session), "before")
            plain_turn(Story(session), text)
            written = [event.to_json() for event in session.events]
        async with await store.open("s") as found:
            assert [event.to_json() for event in found.events] == written
        assert (await store.verify("s")).sound
        async with await store.open("s", "write") as again:
            plain_turn(Story(again), "after")


async def test_what_could_not_be_read_back_is_not_written(framed_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed, "MOST_UNPACKED", 100_000)
    async with open_store(framed_url) as store:
        session = await store.create({"id": "s"})
        plain_turn(Story(session), "before")
        await session.flush()
        stored = session.next_seq
        plain_turn(Story(session), "x" * 100_000)
        with pytest.raises(WriteFailed, match="no more than 100,000"):
            await session.flush()
        await session.abandon()
        async with await store.open("s") as found:
            assert found.stored == stored


async def test_many_small_events_that_are_added_make_no_large_frame(
    framed_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "BATCH_BYTES", 20_000)
    made = Session.create({"id": "made"})
    for n in range(1, 600):
        made.append_json("turn/start", {"turn": n})
        made.append_json("turn/end", {"turn": n, "reason": {"kind": "completed"}})
    async with open_store(framed_url) as store:
        await store.add(new_header(id="s"), list(made.events))
    with closing(FramedLog(os.open(log_file(framed_url), os.O_RDONLY))) as log:
        log.tail()
        assert len(log._frames) > 4
        assert max(frame.unpacked for frame in log._frames) < 60_000
