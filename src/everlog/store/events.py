"""Stored events as a log reads them: each is checked before it is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from everlog.session.errors import SessionCorrupt
from everlog.session.event import Event, read_event
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import Reader
from everlog.store.chain import Record, is_sound
from everlog.store.damage import damage_of, no_event


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
