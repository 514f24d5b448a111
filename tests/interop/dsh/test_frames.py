"""Compressed files: Zstandard frames one after the other, and what a damaged one costs."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.interop.dsh.samples import closed, file, turn_end, user

from everlog.interop import dsh
from everlog.interop.dsh.frames import MAGIC, TextTooLarge, contents, frame_end
from everlog.interop.importing import detect

zstandard = pytest.importorskip("zstandard", reason="the optional package zstandard is not installed")

PLAIN = file(closed(user(2, "hello " * 50)))


def frames(data: bytes = PLAIN, **options: Any) -> list[bytes]:
    """Each line in a frame of its own."""
    compressor = zstandard.ZstdCompressor(**options)
    return [compressor.compress(line) for line in data.splitlines(keepends=True)]


def streamed(data: bytes) -> bytes:
    """A frame that does not tell its size, as a writer makes that does not know it."""
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize("options", [{}, {"write_checksum": True}, {"write_content_size": False}, {"level": 19}])
def test_frames_read_as_the_text_that_they_hold(options: Any) -> None:
    data = b"".join(frames(**options))
    log = dsh.read(data)
    assert list(log.events) == list(dsh.read(PLAIN).events)
    assert (log.committed_bytes, log.torn_bytes) == (len(data), 0)


def test_one_frame_may_hold_it_all_and_a_row_may_stand_in_two() -> None:
    middle = len(PLAIN) // 2
    for data in (streamed(PLAIN), streamed(PLAIN[:middle]) + streamed(PLAIN[middle:])):
        assert list(dsh.read(data).events) == list(dsh.read(PLAIN).events)


def test_frames_of_many_blocks_and_of_runs_end_where_they_end() -> None:
    for text in (b"", b"a", bytes(500_000), bytes(range(256)) * 2_000):
        for frame in (streamed(text), zstandard.ZstdCompressor().compress(text)):
            assert frame_end(frame + MAGIC, 0) == len(frame)
            assert all(frame_end(frame[:cut], 0) is None for cut in {0, 3, 5, 8, len(frame) - 1} if cut < len(frame))


@pytest.mark.parametrize("missing", [1, 2, 10])
def test_a_last_frame_that_is_cut_short_is_a_torn_tail(missing: int) -> None:
    whole = frames()
    log = dsh.read(b"".join(whole)[:-missing])
    assert [event.type for event in log.events][-1] == "step/end"
    assert log.committed_bytes == len(b"".join(whole[:-1]))
    assert log.torn_bytes == len(whole[-1]) - missing


def test_a_cut_at_any_byte_costs_the_last_frame_only() -> None:
    whole = frames()
    data, ends, total = b"".join(whole), [], 0
    for frame in whole:
        total += len(frame)
        ends.append(total)
    for cut in range(ends[0], len(data)):
        assert dsh.read(data[:cut]).committed_bytes == max(end for end in ends if end <= cut)


def test_a_cut_before_the_first_frame_is_whole_leaves_no_log() -> None:
    for cut in range(len(frames()[0])):
        with pytest.raises(dsh.LogDamaged):
            dsh.read(frames()[0][:cut])


def damaged(frame: bytes) -> bytes:
    return frame[:-6] + bytes([frame[-6] ^ 0xFF]) + frame[-5:]


def test_a_damaged_last_frame_is_dropped_and_one_that_a_turn_end_follows_is_damage() -> None:
    whole = frames(write_checksum=True)
    log = dsh.read(b"".join([*whole[:-1], damaged(whole[-1])]))
    assert log.committed_bytes == len(b"".join(whole[:-1]))
    with pytest.raises(dsh.LogDamaged, match="later turn/end"):
        dsh.read(b"".join([*whole[:-2], damaged(whole[-2]), whole[-1]]))


def test_bytes_between_frames_are_damage_when_a_turn_end_follows() -> None:
    whole = frames()
    with pytest.raises(dsh.LogDamaged):
        dsh.read(b"".join([*whole[:-1], b"\0" * 9, whole[-1]]))
    assert dsh.read(b"".join([*whole, b"\0" * 9])).torn_bytes == 9


def test_rows_that_are_dropped_take_their_whole_frame_out_of_the_committed_bytes() -> None:
    first, second = streamed(PLAIN), streamed(b'{"type":"session/title","seq":5,"time":1,"data":{}}\nnot a row\n')
    log = dsh.read(first + second)
    assert (len(log.events), log.committed_bytes) == (6, len(first))


def test_plain_text_stays_as_it_is() -> None:
    assert contents(PLAIN).text is PLAIN
    assert contents(PLAIN).file_bytes(7) == 7


def test_without_the_optional_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(dsh.CompressionUnavailable, match=r"everlog\[zstd\]"):
        dsh.read(b"".join(frames()))
    assert dsh.read(file([turn_end()])).torn_bytes == 0


@pytest.mark.parametrize(("text", "what"), [(b" " * (80 << 20), "a line of"), (b"x\n" * (150 << 20), "text of")])
def test_a_few_bytes_that_stand_for_a_gigabyte_are_refused(text: bytes, what: str) -> None:
    data = file(closed(user(2)))
    small = zstandard.ZstdCompressor().compress(text)
    assert len(small) < 40_000
    with pytest.raises(TextTooLarge, match=f"holds {what} more than .* decompress it"):
        contents(zstandard.ZstdCompressor().compress(data) + small)
    with pytest.raises(TextTooLarge):
        detect(small)


def test_frames_that_are_too_much_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlog.interop.dsh.frames.MOST_BYTES", 10_000)
    frame = zstandard.ZstdCompressor().compress(b"x" * 999 + b"\n")
    assert len(contents(frame * 10).text) == 10_000
    with pytest.raises(TextTooLarge, match="text of more than 10,000 bytes"):
        contents(frame * 11)
