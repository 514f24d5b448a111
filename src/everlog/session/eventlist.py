"""The events of a log as a read-only sequence, in memory or partly in a store.

A log that was opened from a store need not hold what it does not use: events before `start` are read from
an `EventSource` when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, overload

from everlog.session.event import Event


class EventSource(Protocol):
    """Where events that are not held in memory are read. Both raise SessionCorrupt when one is damaged."""

    def read(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from seq `start` up to `stop`, in order."""
        ...

    def pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        """Give the events with these seqs, in the order given."""
        ...


class EventList(Sequence[Event]):
    """Events by seq. Only the log that owns it adds to it."""

    __slots__ = ("_source", "_start", "end", "held")

    held: list[Event]
    """The events in memory; the log that owns the list adds to it, and counts `end` up with it."""
    end: int
    """The seq of the event that comes next; the length, at the cost of an attribute."""

    def __init__(self, held: list[Event] | None = None, source: EventSource | None = None, start: int = 0) -> None:
        """Hold these events, whose first has seq `start`; earlier ones are read from the source."""
        self.held = held if held is not None else []
        self._source = source
        self._start = start
        self.end = start + len(self.held)

    def __len__(self) -> int:
        return self.end

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return self._slice(index)
        at = index + len(self) if index < 0 else index
        if at >= self._start:
            return self.held[at - self._start]
        if at < 0 or self._source is None:
            raise IndexError(index)
        return next(iter(self._source.pick([at])))

    def _slice(self, index: slice) -> Sequence[Event]:
        start, stop, step = index.indices(len(self))
        if start >= self._start and step > 0:
            return self.held[start - self._start : stop - self._start : step]
        return list(self.pick(range(start, stop, step)))

    def __iter__(self) -> Iterator[Event]:
        return self.between(0, len(self))

    def between(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from seq `start` up to `stop`, reading stored ones as they come."""
        if start < self._start and self._source is not None:
            yield from self._source.read(start, min(stop, self._start))
        for at in range(max(start, self._start), stop):
            yield self.held[at - self._start]

    def pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        """Give the events with these seqs, in the order given; stored ones are read together."""
        wanted = list(seqs)
        stored = [seq for seq in wanted if seq < self._start]
        read = iter(self._source.pick(stored)) if stored and self._source is not None else iter(())
        for seq in wanted:
            yield next(read) if seq < self._start else self.held[seq - self._start]

    def prefix(self, count: int) -> EventList:
        """Give the first `count` events as a list of its own that shares what is stored."""
        if count <= self._start:
            return EventList([], self._source, count)
        return EventList(self.held[: count - self._start], self._source, self._start)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<EventList of {len(self)}>"
