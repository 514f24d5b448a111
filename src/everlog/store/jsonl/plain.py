"""Plain log files: lines of JSON. `tail -f`, `grep` and `jq` read them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar

from everlog.store.backend import End, Torn
from everlog.store.chain import START, Batch, Record, is_sound
from everlog.store.jsonl.lines import event_lines, record_of, seq_of
from everlog.store.jsonl.logfile import MISSING, LogFile, Tail

_BLOCK = 1024 * 1024
_FIRST_LOOK = 8 * 1024
_MOST_LINES, _MOST_BYTES = 4096, 8 * _BLOCK
_NOWHERE = (1 << 64) - 1
"""The place of an event that is missing."""


class PlainLog(LogFile):
    """A file of lines. Events are found by their places, which a side file may give and a scan confirms."""

    suffix: ClassVar[str] = ".jsonl"

    def __init__(self, descriptor: int, places: Callable[[], array[int]] = lambda: array("Q")) -> None:
        """Read the file; `places` gives offsets of events that were kept, right or wrong."""
        super().__init__(descriptor)
        self._kept_places = places
        self._places: array[int] | None = None
        self._confirmed = False
        self._scanned = 0
        self._strays: list[tuple[int, str]] = []
        self._taken: set[int] = set()
        self._first_line: bytes | None = None

    def header_line(self) -> bytes:
        """Give the first line."""
        if self._first_line is None:
            line, newline, _ = self.bytes_at(0, _FIRST_LOOK).partition(b"\n")
            if not newline:
                line, newline, _ = self.bytes_at(0, self.size).partition(b"\n")
            if not newline:
                raise ValueError("the file has no whole line")
            self._first_line = line
        return self._first_line

    def _events_start(self) -> int:
        try:
            return len(self.header_line()) + 1
        except ValueError:
            return self.size

    def _find_tail(self, size: int) -> Tail:
        """Go back from the end to the last line that is whole and sound, or was that before somebody changed it."""
        first = self._events_start()
        stop, torn = size, ""
        while stop > first:
            start, whole = self._line_before(stop, first)
            record = record_of(self.bytes_at(start, stop - start - 1)) if whole else MISSING
            seq = seq_of(record.data)
            if whole and seq is not None and (is_sound(*record) or (torn and _was_changed(record))):
                return Tail(stop, End(seq + 1, record.chain), _torn(size - stop, torn))
            torn = torn or ("its checksum is wrong" if whole else "it does not end in a newline")
            stop = start
        return Tail(first, End(0, START), _torn(size - first, torn or "it does not end in a newline"))

    def _line_before(self, stop: int, first: int) -> tuple[int, bool]:
        """Give where the line that ends at `stop` begins, and whether a newline ends it."""
        whole = self.bytes_at(stop - 1, 1) == b"\n"
        upto = stop - 1 if whole else stop
        look = _FIRST_LOOK
        while True:
            begin = max(first, upto - look)
            found = self.bytes_at(begin, upto - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1, whole
            if begin == first:
                return first, whole
            look *= 8

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Give the records in order: a block of lines at a time."""
        while start < stop:
            upto = self._reach(start, min(stop, start + _MOST_LINES))
            yield from self._read_some(start, upto)
            start = upto

    def _reach(self, start: int, stop: int) -> int:
        """Give how far to read from `start` on, so that it is about a few blocks."""
        places = self._places_upto(stop)
        while stop - start > 1 and self._bound(places, stop) - places[start] > _MOST_BYTES:
            stop = (start + stop) // 2
        return stop

    def _read_some(self, start: int, stop: int) -> list[Record]:
        places = self._places_upto(stop)
        found = self._read_placed(places, start, stop)
        if not self._confirmed and not all(_stands_for(record, seq) for seq, record in enumerate(found, start)):
            self._rescan()
            found = self._read_placed(self._places_upto(stop), start, stop)
        return found

    def _read_placed(self, places: array[int], start: int, stop: int) -> list[Record]:
        known = [place for place in places[start:stop] if place != _NOWHERE]
        if not known:
            return [MISSING] * (stop - start)
        first = known[0]
        block = self.bytes_at(first, max(0, self._bound(places, stop) - first))
        return [self._cut(block, place - first) if place != _NOWHERE else MISSING for place in places[start:stop]]

    @staticmethod
    def _cut(block: bytes, at: int) -> Record:
        end = block.find(b"\n", at)
        return record_of(block[at : end if end >= 0 else len(block)])

    def _bound(self, places: array[int], seq: int) -> int:
        """Give an offset that the events before `seq` do not pass."""
        for at in range(seq, len(places)):
            if places[at] != _NOWHERE:
                return places[at]
        return max(self._scanned, self.tail().offset)

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs, each by a read of its own."""
        places = self._places_upto(max(seqs, default=-1) + 1)
        for seq in seqs:
            record = self._at(places, seq)
            if not self._confirmed and not _stands_for(record, seq):
                self._rescan()
                places = self._places_upto(max(seqs) + 1)
                record = self._at(places, seq)
            yield record

    def _at(self, places: array[int], seq: int) -> Record:
        place = places[seq]
        if place == _NOWHERE:
            return MISSING
        return self._cut(self.bytes_at(place, max(0, self._bound(places, seq + 1) - place)), 0)

    def _places_upto(self, stop: int) -> array[int]:
        """Give the places of the events before `stop`, looking for those that are not known."""
        if self._places is None:
            self._places = self._kept_places()
            self._scanned = self._after_last(self._places)
        if len(self._places) < stop:
            self._scan()
            self._places.extend([_NOWHERE] * (stop - len(self._places)))
        return self._places

    def _after_last(self, places: array[int]) -> int:
        """Give where to scan on after kept places; they are dropped when they do not end at a line of the file."""
        if not places:
            return self._events_start()
        last = places[-1]
        block = self.bytes_at(last, self.tail().offset - last) if last < self.tail().offset else b""
        end = block.find(b"\n")
        if end < 0 or not _stands_for(record_of(block[:end]), len(places) - 1):
            del places[:]
            return self._events_start()
        return last + end + 1

    def _rescan(self) -> None:
        """Find every event anew: the places that were kept are wrong, or the file is damaged."""
        self._places, self._scanned, self._confirmed = array("Q"), self._events_start(), True
        self._strays, self._taken = [], set()
        self._scan()

    def _scan(self) -> None:
        """Find the events behind those that are known, up to the sound end."""
        places = self._places
        assert places is not None
        stop = self.tail().offset
        while self._scanned < stop:
            lines = self._lines_from(self._scanned, stop)
            self._note(places, lines)
            self._scanned += len(lines)

    def _lines_from(self, offset: int, stop: int) -> bytes:
        """Give the whole lines of the block at an offset; one line, when it is longer than a block."""
        size = _BLOCK
        while True:
            block = self.bytes_at(offset, min(size, stop - offset))
            cut = block.rfind(b"\n") + 1
            if cut or size >= stop - offset:
                return block[: cut or len(block)]
            size *= 8

    def _note(self, places: array[int], lines: bytes) -> None:
        """Note where the events of some lines are. A line that cannot be read stands for the next event."""
        at = self._scanned
        split = lines.split(b"\n")
        for line, following in pairwise(split):
            seq = len(places)
            if line.startswith(b'{"seq":%d,' % seq):
                places.append(at)
            else:
                self._note_odd(places, line, following, at, seq)
            at += len(line) + 1

    def _note_odd(self, places: array[int], line: bytes, following: bytes, at: int, expected: int) -> None:
        """Note a line that is not the one expected: it is damaged, stands elsewhere, or others before it are missing.

        Of an event that stands in another's place, that other one counts as damaged too, so that both are told.
        """
        seq = seq_of(line)
        if seq is None or seq >= self.tail().end.next_seq:
            places.append(at)
        elif seq > expected and (seq_of(following) or seq) < seq:
            self._strays.append((expected, f"a line of event {seq}"))
            self._taken.add(expected)
            places.append(at)
        elif seq == expected - 1 and expected - 1 in self._taken:
            self._strays.append((seq, "a line in its place"))
        elif seq < expected:
            self._strays.append((expected, f"a second line of event {seq}"))
            self._taken.add(expected)
            places.append(at)
        else:
            places.extend([_NOWHERE] * (seq - expected))
            places.append(at)

    def strays(self) -> Iterator[tuple[int, str]]:
        """Give lines of events that stand elsewhere too."""
        self._rescan()
        yield from self._strays

    def place_after(self, count: int) -> int:
        """Give the offset after the first `count` events."""
        if not count:
            return self._events_start()
        places = self._places_upto(count)
        last = places[count - 1]
        block = self.bytes_at(last, self._bound(places, count) - last)
        return last + block.find(b"\n") + 1

    def count_before(self, offset: int) -> int:
        """Give how many events stand before an offset."""
        return bisect_left(self._places_upto(0), offset) if offset < self._scanned else len(self._places_upto(0))

    def blocks(self) -> Iterator[bytes]:
        """Give all lines."""
        offset, stop = 0, self.tail().offset
        while offset < stop:
            block = self._lines_from(offset, stop)
            yield block
            offset += len(block)

    def known_places(self) -> array[int] | None:
        """Give the places, once they were looked for."""
        return self._places

    @staticmethod
    def encode_header(line: bytes) -> bytes:
        """Give the line as it is."""
        return line

    @staticmethod
    def encode(batch: Batch) -> bytes:
        """Give the lines of a batch."""
        return event_lines(batch)


def _stands_for(record: Record, seq: int) -> bool:
    """Tell whether a record is a whole line of this seq; whether it is sound, others ask."""
    return bool(record.seal) and record.data.startswith(b'{"seq":%d,' % seq)


def _was_changed(record: Record) -> bool:
    """Tell whether a line with others behind it has its seal, and no zero bytes, which a loss of power leaves in lines.

    It was written whole then, so it is damaged and not torn.
    """
    return bool(record.seal) and b"\0" not in record.data


def _torn(size: int, reason: str) -> Torn | None:
    return Torn(size, reason) if size > 0 else None
