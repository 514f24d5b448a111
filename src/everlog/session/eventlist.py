"""The events of a log as a read-only sequence, in memory or partly in a store.

A log that was opened from a store need not hold what it does not use: its first events are read from an
`EventSource` when they are asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
    """Events by seq. Only the log that owns it adds to it.

    What a fork inherits is shared, not copied: the events so far become a part that neither list adds to.
    """

    __slots__ = ("_first", "_parts", "_source", "_starts", "_stored", "end", "held")

    held: list[Event]
    """The newest events in memory; the log that owns the list adds to it, and counts `end` up with it."""
    end: int
    """The seq of the event that comes next; the length, at the cost of an attribute."""

    def __init__(self, held: list[Event] | None = None, source: EventSource | None = None, stored: int = 0) -> None:
        """Hold these events; the `stored` ones before them are read from the source."""
        self.held = held if held is not None else []
        self._source = source
        self._stored = stored
        self._parts: list[list[Event]] = []
        self._starts: list[int] = []
        self._first = stored
        self.end = stored + len(self.held)

    def __len__(self) -> int:
        return self.end

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return self._slice(index)
        at = index + self.end if index < 0 else index
        if at >= self._first:
            return self.held[at - self._first]
        if at < 0:
            raise IndexError(index)
        return self._earlier(at)

    def _earlier(self, at: int) -> Event:
        """Give an event that stands before the newest part."""
        if at >= self._stored:
            part, start, _ = self._part_of(at)
            return part[at - start]
        if self._source is None:
            raise IndexError(at)
        return next(iter(self._source.pick([at])))

    def _part_of(self, at: int) -> tuple[list[Event], int, int]:
        """Give the part that holds an event, with the seqs at which it begins and is over."""
        if at >= self._first:
            return self.held, self._first, self.end
        index = bisect_right(self._starts, at)
        over = self._starts[index] if index < len(self._starts) else self._first
        return self._parts[index - 1], self._starts[index - 1], over

    def _slice(self, index: slice) -> Sequence[Event]:
        start, stop, step = index.indices(self.end)
        if start >= self._first and step > 0:
            return self.held[start - self._first : stop - self._first : step]
        return list(self.pick(range(start, stop, step)))

    def __iter__(self) -> Iterator[Event]:
        return self.between(0, self.end)

    def between(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from seq `start` up to `stop`, reading stored ones as they come."""
        if start < self._stored and self._source is not None:
            yield from self._source.read(start, min(stop, self._stored))
        at = max(start, self._stored)
        while at < stop:
            part, first, over = self._part_of(at)
            over = min(over, stop)
            for index in range(at - first, over - first):
                yield part[index]
            at = over

    def pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        """Give the events with these seqs, in the order given; stored ones are read together."""
        wanted = list(seqs)
        stored = [seq for seq in wanted if seq < self._stored]
        read = iter(self._source.pick(stored)) if stored and self._source is not None else iter(())
        for seq in wanted:
            if seq >= self._first:
                yield self.held[seq - self._first]
            else:
                yield next(read) if seq < self._stored else self._earlier(seq)

    def prefix(self, count: int) -> EventList:
        """Give the first `count` events as a list of its own, in a time that does not grow with them."""
        if count <= self._stored:
            return EventList([], self._source, count)
        if self.held:
            self._parts.append(self.held)
            self._starts.append(self._first)
            self.held, self._first = [], self.end
        inherited = EventList([], self._source, self._stored)
        shared = bisect_left(self._starts, count)
        inherited._parts, inherited._starts = self._parts[:shared], self._starts[:shared]
        inherited._first = inherited.end = count
        return inherited

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<EventList of {len(self)}>"
