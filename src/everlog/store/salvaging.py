"""Salvaging a damaged session: what is sound of it becomes a new one. The original is not touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from everlog.session.errors import SessionCorrupt
from everlog.session.event import Event
from everlog.session.header import Header, new_header
from everlog.session.salvage import Lost, Salvaged, salvage
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import Reader
from everlog.store.events import StoredEvents
from everlog.store.opening import stored_header


@dataclass(frozen=True)
class Salvage:
    """What came of salvaging a session.

    Attributes:
        session: the id of the new session.
        kept: how many events of the original it holds.
        lost: the seqs that it does not hold, and why.
        mended: how many events stand in their place so that the rest could be kept.
    """

    session: str
    kept: int
    lost: tuple[Lost, ...]
    mended: int

    @classmethod
    def of(cls, result: Salvaged) -> Self:
        """Say what came of it."""
        kept = result.log.next_seq - len(result.lost)
        return cls(result.log.id, kept, tuple(result.lost), result.mended)


def salvaged(id: str, reader: Reader, vocabulary: Vocabulary) -> Salvaged:
    """Make a log of what is sound of a stored one."""
    found = list(_found(id, reader, vocabulary))
    return salvage(_header(id, reader, found), found, vocabulary)


def _found(id: str, reader: Reader, vocabulary: Vocabulary) -> Iterator[Event | Lost]:
    events = StoredEvents(id, reader, vocabulary)
    for seq, record in enumerate(reader.read(0, reader.end().next_seq)):
        try:
            event = events.checked(seq, record)
        except SessionCorrupt as error:
            yield Lost(seq, error.reason)
            continue
        known = event.kind is not None or event.ignorable
        yield event if known else Lost(seq, f"this build does not know its type {event.type}")


def _header(id: str, reader: Reader, found: list[Event | Lost]) -> Header:
    """Make the header of the new session: its own id, and where it comes from."""
    leading = next((at for at, item in enumerate(found) if isinstance(item, Lost)), len(found))
    try:
        cwd = stored_header(id, reader).cwd
    except SessionCorrupt:
        cwd = None
    return new_header(cwd=cwd, parent_session=id, inherited_events=leading, origin="salvage")
