"""Verifying a stored log: that every event is there, is what was stored, and stands where it was put."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TypeAlias

from everlog.session.errors import FormatUnsupported, RuleViolation, SessionCorrupt
from everlog.session.event import read_event
from everlog.session.eventlist import EventList
from everlog.session.header import Header
from everlog.session.recording import Recording
from everlog.session.rules.checking import check
from everlog.session.vocabulary import CORE, Vocabulary
from everlog.store.backend import Backend, End, Reader, Torn
from everlog.store.chain import START, Record, is_sound, link
from everlog.store.damage import damage_of, no_event
from everlog.store.errors import HeadInvalid, StoreError, reason_of
from everlog.store.events import StoredEvents
from everlog.store.opening import stored_header

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with how many events are done, and how many there are."""

_PROGRESS_EVERY = 1_000
_GAP = 1_000
"""After so many missing events in a row it is looked up which are stored at all."""
_MISSING = Record(b"", b"")


@dataclass(frozen=True)
class Fault:
    """Something that is not as it was stored.

    Attributes:
        seq: of the event, or None for the header.
        what: what is wrong.
        against_head: whether the stored log is sound in itself there, and not the one of the head that was kept.
        unreadable: whether it is not known what is stored, as it cannot be read now.
    """

    seq: int | None
    what: str
    against_head: bool = False
    unreadable: bool = False

    def __str__(self) -> str:
        if self.unreadable:
            return self.what
        return f"{'the header' if self.seq is None else f'event {self.seq}'}: {self.what}"


@dataclass(frozen=True)
class Verified:
    """What verifying a session found.

    Attributes:
        session: its id.
        end: how many events it has, and the chain after the last; None when the chain is broken before.
        faults: what is damaged, in order.
        violations: what sound events break; the rules are asked of logs without faults only.
        torn: what stands at the end and is no whole record.
    """

    session: str
    events: int
    end: End | None
    faults: tuple[Fault, ...]
    violations: tuple[RuleViolation, ...]
    torn: Torn | None

    @property
    def sound(self) -> bool:
        """Tell whether every event is as it was stored."""
        return not self.faults

    @property
    def head(self) -> str | None:
        """Give the head as `COUNT:CHAIN`, to be kept elsewhere and compared later; None for a damaged log."""
        return None if self.end is None else head_text(self.end)


def head_text(end: End) -> str:
    """Give the end of a log as `COUNT:CHAIN`."""
    return f"{end.next_seq}:{end.head.hex()}"


def read_head(text: str) -> End:
    """Read a head that `head_text` gave. Raises HeadInvalid when it is none."""
    count, colon, chain = text.strip().partition(":")
    try:
        end = End(int(count), bytes.fromhex(chain))
    except ValueError:
        end = End(-1, b"")
    if not colon or end.next_seq < 0 or len(end.head) != len(START):
        raise HeadInvalid(text)
    return end


def verify_stored(
    id: str,
    backend: Backend,
    vocabulary: Vocabulary = CORE,
    head: End | None = None,
    progress: Progress = lambda done, of: None,
) -> Verified:
    """Open a session and `verify` it; that one cannot be read is found, too. Raises SessionNotFound."""
    try:
        with closing(backend.reader(id)) as reader:
            return verify(id, reader, vocabulary, head, progress)
    except StoreError as error:
        what = f"it cannot be read: {reason_of(error)}"
        return Verified(id, 0, None, (Fault(None, what, unreadable=True),), (), None)


def verify(
    id: str,
    reader: Reader,
    vocabulary: Vocabulary = CORE,
    head: End | None = None,
    progress: Progress = lambda done, of: None,
) -> Verified:
    """Read a whole stored log, and tell what is wrong with it; compare it with a head that was kept."""
    header, faults = _header(id, reader)
    try:
        stop = reader.end()
    except SessionCorrupt as error:
        return Verified(id, 0, None, (*faults, Fault(None, error.reason)), (), reader.torn)
    found, end = _follow(reader, stop, head, progress)
    faults += found
    faults += [Fault(seq, f"before it stands {what}") for seq, what in reader.strays()]
    faults.sort(key=lambda fault: -1 if fault.seq is None else fault.seq)
    judged = () if faults or header is None else _judged(id, header, reader, stop.next_seq, vocabulary)
    return Verified(id, stop.next_seq, end, tuple(faults), judged, reader.torn)


def _header(id: str, reader: Reader) -> tuple[Header | None, list[Fault]]:
    try:
        return stored_header(id, reader), []
    except (SessionCorrupt, FormatUnsupported) as error:
        return None, [Fault(None, reason_of(error))]


def _follow(reader: Reader, stop: End, head: End | None, progress: Progress) -> tuple[list[Fault], End | None]:
    """Follow the chain from event to event."""
    faults: list[Fault] = []
    before: bytes | None = START
    for seq, upto, record in _walked(reader, stop.next_seq):
        what = _fault(seq, record, before)
        if upto - seq > 1:
            what = f"it is missing, and so are those behind it up to event {upto - 1}"
        if what is not None:
            faults.append(Fault(seq, what))
        before = record.chain if record.seal else None
        if head is not None and seq < head.next_seq <= upto and before != head.head:
            faults.append(Fault(seq, "the chain up to here is not the one of the head that was kept", True))
        if seq % _PROGRESS_EVERY == 0:
            progress(seq, stop.next_seq)
    if before is not None and before != stop.head:
        faults.append(Fault(stop.next_seq - 1, "the chain after it is not the one noted as the end of the log"))
    if head is not None and head.next_seq > stop.next_seq:
        what = f"it is missing: the head that was kept counts {head.next_seq} events"
        faults.append(Fault(stop.next_seq, what, True))
    progress(stop.next_seq, stop.next_seq)
    return faults, stop if not faults else None


def _walked(reader: Reader, stop: int) -> Iterator[tuple[int, int, Record]]:
    """Give each record with its seq and the one after it; a long gap at once, as its first and the one after its last.

    A damaged count of events may be of any size, so that a gap is not walked through to its end.
    """
    stored: list[int] | None = None
    start = 0
    while start < stop:
        missing = 0
        for seq, record in enumerate(reader.read(start, stop), start):
            if not record.data and not record.seal:
                missing += 1
                if missing == _GAP:
                    break
                continue
            yield from ((at, at + 1, _MISSING) for at in range(seq - missing, seq))
            missing = 0
            yield seq, seq + 1, record
        if missing < _GAP:
            yield from ((at, at + 1, _MISSING) for at in range(stop - missing, stop))
            return
        first, stored = seq + 1 - missing, _stored(reader) if stored is None else stored
        at = bisect_right(stored, seq)
        start = min(stop, stored[at]) if at < len(stored) else stop
        yield first, start, _MISSING


def _stored(reader: Reader) -> list[int]:
    """Give the seqs of the events that are stored, wherever they stand, in order."""
    found: set[int] = set()
    for record in reader.everything():
        with suppress(ValueError):
            found.add(read_event(record.data).seq)
    return sorted(found)


def _fault(seq: int, record: Record, before: bytes | None) -> str | None:
    """Say what is wrong with a record that follows the chain `before`, or None."""
    if not is_sound(*record):
        return damage_of(record)
    try:
        event = read_event(record.data)
    except ValueError as error:
        return no_event(record.data, error)
    if event.seq != seq:
        return f"event {event.seq} stands in its place"
    if before is not None and link(before, record.data) != record.chain:
        return "the chain is broken here: it, or the event before it, is not the one that was stored"
    return None


def _judged(id: str, header: Header, reader: Reader, stop: int, vocabulary: Vocabulary) -> tuple[RuleViolation, ...]:
    log = Recording(header, (), vocabulary)
    log._events = EventList([], StoredEvents(id, reader, vocabulary), stop)
    return tuple(check(log))
