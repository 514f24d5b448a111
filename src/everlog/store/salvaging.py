"""Salvaging a damaged session: what is sound of it becomes a new one. The original is not touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from everlog.session.errors import SessionCorrupt
from everlog.session.event import Event, read_event
from everlog.session.header import Header, new_header
from everlog.session.salvage import Lost, Salvaged, salvage
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import Reader
from everlog.store.chain import START, is_sound, link
from everlog.store.opening import stored_header

_BEHIND = 1_000
"""So many events behind the last sound one are told as lost: a damaged count of events may be of any size."""


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
    found = list(_found(reader, vocabulary))
    return salvage(_header(id, reader, found), found, vocabulary)


def _found(reader: Reader, vocabulary: Vocabulary) -> Iterator[Event | Lost]:
    """Give each event, wherever it was found; it has to follow the one before it where that was found too."""
    sound = _sound(reader, vocabulary)
    before: bytes | None = START
    behind = max(sound, default=-1) + 1
    for seq in range(max(behind, min(_end(reader), behind + _BEHIND))):
        event, chain = sound.get(seq, (None, None))
        if event is None:
            yield Lost(seq, "no sound record of it was found")
        elif before is not None and link(before, event.to_json()) != chain:
            yield Lost(seq, "it is not the event that was stored after the one before")
        elif event.kind is None and not event.ignorable:
            yield Lost(seq, f"this build does not know its type {event.type}")
        else:
            yield event
        before = chain


def _end(reader: Reader) -> int:
    try:
        return reader.end().next_seq
    except SessionCorrupt:
        return 0


def _sound(reader: Reader, vocabulary: Vocabulary) -> dict[int, tuple[Event, bytes]]:
    """Read every record that is sound by itself; of two of one event, the first."""
    found: dict[int, tuple[Event, bytes]] = {}
    for record in reader.everything():
        if not is_sound(*record):
            continue
        try:
            event = read_event(record.data, vocabulary)
        except ValueError:
            continue
        found.setdefault(event.seq, (event, record.chain))
    return found


def _header(id: str, reader: Reader, found: list[Event | Lost]) -> Header:
    """Make the header of the new session: its own id, and where it comes from."""
    leading = next((at for at, item in enumerate(found) if isinstance(item, Lost)), len(found))
    try:
        cwd = stored_header(id, reader).cwd
    except SessionCorrupt:
        cwd = None
    return new_header(cwd=cwd, parent_session=id, inherited_events=leading, origin="salvage")
