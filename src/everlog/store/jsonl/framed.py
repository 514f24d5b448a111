"""Compressed log files: the same lines in Zstandard frames, one for each batch. `zstdcat` reads them.

Before each frame stands a skippable frame of 32 bytes, which decompressors pass over: magic, length, `EVLG`,
the seq of the first event of the frame, how many there are (0 for the header's), how long the frame is, and
the CRC-32 of these. With it a reader goes from frame to frame without decompressing, and finds the next one
behind damage.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple
from zlib import crc32

import zstandard

from everlog.store.backend import End, Torn
from everlog.store.chain import START, Batch, Record, Unread, is_sound
from everlog.store.errors import StoreError
from everlog.store.jsonl.lines import event_lines, record_of
from everlog.store.jsonl.logfile import MISSING, LogFile, Tail

_MAGIC = 0x184D2A5E
_MARK = struct.Struct("<II4sQIII")
_TAG = b"EVLG"
_PAYLOAD = _MARK.size - 8
_BEGINNING = 18
"""A Zstandard frame tells within so many bytes how much it unpacks to."""
MOST_UNPACKED = 1 << 28
"""The lines of a frame are at most so long, in bytes. A batch takes a few MiB, but one of its events may be longer.

A few bytes can stand for gigabytes, so that no frame is unpacked, or written, that says more.
"""
_HELD, _HELD_BYTES = 8, 1 << 25
"""So many frames are held unpacked, and of so many bytes together, but for the last one."""


class Frame(NamedTuple):
    """One frame.

    Attributes:
        offset: where its mark begins.
        stop: where it ends.
        first_seq: the seq of its first event.
        events: how many events are in it; 0 for the header's.
        unpacked: how many bytes it says that it unpacks to; -1 when it does not say.
    """

    offset: int
    stop: int
    first_seq: int
    events: int
    unpacked: int

    @property
    def damage(self) -> str | None:
        """Say why it is not to be unpacked, or None."""
        if self.unpacked <= MOST_UNPACKED:
            return None
        packed = self.stop - self.offset - _MARK.size
        return (
            f"a frame of {packed:,} bytes that unpack to {self.unpacked:,}, where no more than {MOST_UNPACKED:,} may be"
        )


class _Unpacked(NamedTuple):
    """What came of unpacking a frame: its lines, or None when it is damaged, and how many bytes they are."""

    lines: list[bytes] | None
    size: int


class FramedLog(LogFile):
    """A file of frames."""

    suffix: ClassVar[str] = ".jsonl.zst"

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._frames: list[Frame] = []
        self._firsts: list[int] = []
        self._strays: list[Frame] = []
        self._walked = 0
        self._damage: list[tuple[int, str]] = []
        self._held: OrderedDict[int, _Unpacked] = OrderedDict()
        self._held_bytes = 0

    def header_line(self) -> bytes:
        """Give the line of the first frame."""
        self._walk(self.size)
        first = self._frames[0] if self._frames and not self._frames[0].events else None
        if first is not None and first.damage is not None:
            raise ValueError(f"the file begins with {first.damage}")
        lines = self._lines_of(first) if first is not None else None
        if not lines:
            raise ValueError("the file does not begin with a whole frame")
        return lines[0]

    def _find_tail(self, size: int) -> Tail:
        """Go from frame to frame; the last one must be whole. One that is not to be unpacked is no torn one."""
        self._walk(size)
        while self._frames and not self._frames[-1].damage and self._lines_of(self._frames[-1]) is None:
            self._walked = self._frames.pop().offset
            self._firsts.pop()
        offset = self._frames[-1].stop if self._frames else 0
        torn = Torn(size - offset, "the last frame is not whole") if size > offset else None
        return Tail(offset, self._end(), torn)

    def _end(self) -> End:
        for frame in reversed(self._frames):
            lines = self._lines_of(frame)
            if not frame.events:
                break
            record = record_of(lines[-1]) if lines else MISSING
            head = record.chain if is_sound(*record) else bytes(len(START))
            return End(frame.first_seq + frame.events, head)
        return End(0, START)

    def _walk(self, size: int) -> None:
        """Note the frames behind those that are known."""
        while self._walked < size:
            frame = self._frame_at(self._walked, size)
            if frame is None:
                found = self._next_mark(self._walked + 1, size)
                if found is None:
                    return
                self._damage.append((self._next_seq(), f"{found - self._walked} bytes that are no frame"))
                self._walked = found
            else:
                self._note(frame)
                self._walked = frame.stop

    def _note(self, frame: Frame) -> None:
        expected = self._next_seq()
        if frame.damage is not None:
            self._damage.append((frame.first_seq, frame.damage))
        if frame.events and frame.first_seq < expected:
            self._damage.append((frame.first_seq, "a frame that should end before it"))
        if frame.events and self._firsts and frame.first_seq <= self._firsts[-1] and self._frames[-1].events:
            self._strays.append(frame)
            return
        if frame.events or not self._frames:
            self._frames.append(frame)
            self._firsts.append(frame.first_seq)
        else:
            self._damage.append((expected, "a second header"))

    def _next_seq(self) -> int:
        return self._frames[-1].first_seq + self._frames[-1].events if self._frames else 0

    def _frame_at(self, offset: int, size: int) -> Frame | None:
        """Give the frame whose mark is at an offset; None when there is no whole one."""
        mark = self.bytes_at(offset, _MARK.size + _BEGINNING)
        mark, beginning = mark[: _MARK.size], mark[_MARK.size :]
        if len(mark) < _MARK.size:
            return None
        magic, length, tag, first_seq, count, compressed, checksum = _MARK.unpack(mark)
        stop = offset + _MARK.size + compressed
        sound = (magic, length, tag, checksum) == (_MAGIC, _PAYLOAD, _TAG, crc32(mark[8:-4]))
        return Frame(offset, stop, first_seq, count, _unpacked_size(beginning)) if sound and stop <= size else None

    def _next_mark(self, offset: int, size: int) -> int | None:
        """Look for the next whole frame behind damage."""
        sought = struct.pack("<II4s", _MAGIC, _PAYLOAD, _TAG)
        while offset < size:
            block = self.bytes_at(offset, 1 << 20)
            at = block.find(sought)
            while at >= 0:
                if self._frame_at(offset + at, size) is not None:
                    return offset + at
                at = block.find(sought, at + 1)
            offset += max(1, len(block) - len(sought) + 1)
        return None

    def _lines_of(self, frame: Frame) -> list[bytes] | None:
        """Give the lines of a frame, or None when it is damaged; those used last are held."""
        held = self._held.get(frame.offset)
        if held is not None:
            self._held.move_to_end(frame.offset)
            return held.lines
        lines = self._unpack(frame)
        held = self._held[frame.offset] = _Unpacked(lines, frame.unpacked if lines is not None else 0)
        self._held_bytes += held.size
        while len(self._held) > _HELD or (self._held_bytes > _HELD_BYTES and len(self._held) > 1):
            self._held_bytes -= self._held.popitem(last=False)[1].size
        return lines

    def _unpack(self, frame: Frame) -> list[bytes] | None:
        if frame.damage is not None:
            return None
        packed = self.bytes_at(frame.offset + _MARK.size, frame.stop - frame.offset - _MARK.size)
        try:
            lines = zstandard.ZstdDecompressor().decompress(packed).split(b"\n")[:-1]
        except zstandard.ZstdError:
            return None
        return lines if len(lines) == max(frame.events, 1) else None

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Give the records in order."""
        yield from self.pick(range(start, stop))

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs."""
        self.tail()
        for seq in seqs:
            at = bisect_right(self._firsts, seq) - 1
            yield self._record(self._frames[at] if at >= 0 else None, seq)

    def _record(self, frame: Frame | None, seq: int) -> Record:
        if frame is None or not frame.first_seq <= seq < frame.first_seq + frame.events:
            return MISSING
        lines = self._lines_of(frame)
        if lines is None:
            return MISSING if frame.damage is None else Unread.because(f"it is in {frame.damage}")
        return record_of(lines[seq - frame.first_seq])

    def strays(self) -> Iterator[tuple[int, str]]:
        """Give what stands between frames, and frames of events that stand elsewhere too."""
        self.tail()
        yield from self._damage

    def place_after(self, count: int) -> int:
        """Give the offset after the last frame that holds nothing but the first `count` events."""
        self.tail()
        whole = [frame for frame in self._frames if frame.first_seq + frame.events <= count]
        return whole[-1].stop if whole else 0

    def count_before(self, offset: int) -> int:
        """Give how many events stand before an offset."""
        before = [frame for frame in self._frames if frame.stop <= offset]
        return before[-1].first_seq + before[-1].events if before else 0

    def blocks(self) -> Iterator[bytes]:
        """Give all lines, a frame at a time."""
        self.tail()
        for frame in sorted([*self._frames, *self._strays]):
            yield b"\n".join(self._lines_of(frame) or []) + b"\n"

    @staticmethod
    def encode_header(line: bytes) -> bytes:
        """Give the frame of the header line."""
        return _frame(0, 0, line)

    @staticmethod
    def encode(batch: Batch) -> bytes:
        """Give the frame of a batch."""
        return _frame(batch.first_seq, len(batch.data), event_lines(batch))


def _unpacked_size(beginning: bytes) -> int:
    """Give how many bytes a frame says that it unpacks to, or -1; no more than that is ever unpacked of it."""
    try:
        size: int = zstandard.frame_content_size(beginning)
    except zstandard.ZstdError:
        return -1
    return size


def _frame(first_seq: int, count: int, lines: bytes) -> bytes:
    if len(lines) > MOST_UNPACKED:
        raise StoreError(
            f"event {first_seq} and those stored with it are lines of {len(lines):,} bytes, and a compressed log takes"
            f" no more than {MOST_UNPACKED:,} at once; a store without compression does"
        )
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(lines)
    fields = struct.pack("<4sQII", _TAG, first_seq, count, len(packed))
    return struct.pack("<II", _MAGIC, _PAYLOAD) + fields + struct.pack("<I", crc32(fields)) + packed
