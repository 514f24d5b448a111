"""Stored events as a log reads them: each is checked before it is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from everlog.session.errors import SessionCorrupt
from everlog.session.event import Event, read_event
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import End, Reader
from everlog.store.chain import Record, Unread, is_sound

_SURROGATE = re.compile(rb"(?<!\\)(?:\\\\)*\\u([dD][89a-fA-F][0-9a-fA-F]{2})")


class StoredEvents:
    """The events of one stored session, decoded as they are asked for.

    Every event is checked against its checksum and its place; the chain is what `verify` follows.
    """

    def __init__(self, session: str, reader: Reader, vocabulary: Vocabulary) -> None:
        self._session = session
        self._reader = reader
        self._vocabulary = vocabulary

    @property
    def reader(self) -> Reader:
        """Give where the records come from."""
        return self._reader

    def read(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from seq `start` up to `stop`. Raises SessionCorrupt at one that is damaged."""
        for seq, record in enumerate(self._reader.read(start, stop), start):
            yield self.checked(seq, record)

    def pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        """Give the events with these seqs, in the order given. Raises SessionCorrupt at one that is damaged."""
        wanted = list(seqs)
        for seq, record in zip(wanted, self._reader.pick(wanted), strict=True):
            yield self.checked(seq, record)

    def checked(self, seq: int, record: Record) -> Event:
        """Give the event of a record that stands at a seq. Raises SessionCorrupt when it is damaged."""
        data = record.data
        if not is_sound(data, record.seal):
            raise SessionCorrupt(self._session, seq, damage_of(record))
        try:
            event = read_event(data, self._vocabulary)
        except ValueError as error:
            raise SessionCorrupt(self._session, seq, no_event(record.data, error)) from None
        if event.seq != seq:
            raise SessionCorrupt(self._session, seq, f"event {event.seq} stands in its place")
        return event


class Picks(Protocol):
    """What gives records by their seqs."""

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs."""
        ...


def demand_sound_end(id: str, records: Picks, end: End) -> None:
    """Raise SessionCorrupt when the last record before a torn end is damaged.

    Only one record is torn at a time. What were set aside else, at each opening one more, was promised.
    """
    if end.next_seq:
        last = next(iter(records.pick([end.next_seq - 1])))
        if not is_sound(*last):
            raise SessionCorrupt(id, end.next_seq - 1, damage_of(last))


def no_event(data: bytes, error: ValueError) -> str:
    """Say why the bytes of a sound record are no event; of a lone surrogate a parser says other things."""
    lone = _lone_surrogate(data)
    if lone is not None:
        return f"it holds a lone surrogate, the escape {lone}, which stands for no character"
    return f"its bytes are no event: {error}"


def _lone_surrogate(data: bytes) -> str | None:
    """Give the first escape of half a surrogate pair whose other half is not beside it."""
    high: re.Match[bytes] | None = None
    for found in _SURROGATE.finditer(data):
        is_low = found[1][1:2] in b"cdefCDEF"
        if is_low and high is not None and high.end() == found.start(1) - 2:
            high = None
        elif high is not None or is_low:
            return _escape(high or found)
        else:
            high = found
    return None if high is None else _escape(high)


def _escape(found: re.Match[bytes]) -> str:
    return "\\u" + found[1].decode()


def damage_of(record: Record) -> str:
    """Say what is wrong with a record that is not sound."""
    if isinstance(record, Unread):
        return record.reason
    if not record.data and not record.seal:
        return "it is missing"
    return "its checksum does not match its bytes" if record.seal else "it carries no checksum"
