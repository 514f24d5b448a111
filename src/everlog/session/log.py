"""What every log can be asked, whether it can be appended to (`Session`) or only looked at (`Recording`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from msgspec.structs import force_setattr

from everlog.session.behind import Behind
from everlog.session.event import Event
from everlog.session.eventlist import EventList
from everlog.session.header import Header
from everlog.session.messagelist import MessageCache, Messages, message_of
from everlog.session.messages import Message
from everlog.session.payloads import RequestContext, RequestHeader, RequestHeaderEvent
from everlog.session.projection import Projection, named
from everlog.session.rules.ledger import Ledger
from everlog.session.rules.ruled import new_ledger, read_ledger
from everlog.session.surface import Surface
from everlog.session.vocabulary import CORE, Vocabulary

_SNAPSHOT_EVERY = 256
"""A snapshot of the ledger is kept about every so many events."""


class Log:
    """A header, its events, and what follows from them. Everything here answers and never raises for a rule."""

    def __init__(self, header: Header, vocabulary: Vocabulary = CORE) -> None:
        self._header = header
        self._vocabulary = vocabulary
        self._events = EventList()
        self._surface = Surface()
        self._ledger = new_ledger(vocabulary)
        self._newest: Event | None = None
        self._snapshots: list[tuple[int, bytes]] = []
        self._next_snapshot = _SNAPSHOT_EVERY - 1
        self._behind: Behind | None = None
        self._messages = MessageCache(self._pick)
        self._folds: dict[str, tuple[Projection[Any, Any], Any, int]] = {}
        self._saved_folds: dict[str, tuple[int, Any, int]] = {}

    def _pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        return self._events.pick(seqs)

    def _read(self, seq: int) -> Event:
        return self._events[seq]

    @property
    def header(self) -> Header:
        """Give the header; it stands beside the log, not in it."""
        return self._header

    @property
    def id(self) -> str:
        """Give the session's identity."""
        return self._header.id

    @property
    def vocabulary(self) -> Vocabulary:
        """Give the event types that this log was opened with."""
        return self._vocabulary

    @property
    def events(self) -> EventList:
        """Give the events, by seq; a view that the log keeps adding to."""
        return self._events

    @property
    def next_seq(self) -> int:
        """Give the seq that the next event will have."""
        return len(self._events)

    @property
    def last_type(self) -> str | None:
        """Give the type of the newest event, or None in an empty log."""
        return self._events[-1].type if self._events.end else None

    @property
    def surface(self) -> Surface:
        """Give the surface as it is now."""
        return self._surface

    @property
    def ledger(self) -> Ledger:
        """Give where the log stands: open turn and step, pending calls, headers in force. To be read only."""
        return self._ledger

    def messages(self) -> Messages:
        """Give what the model sees; the view stays as it is when the log goes on."""
        return self._messages.view(self._surface._nodes)

    def message(self, seq: int) -> Message | None:
        """Give the message of one surface event, or None when it yields none."""
        return message_of(self._read(seq))

    def request_header(self) -> RequestHeader | None:
        """Give the request header in force, or None before the first."""
        seq = self._ledger.headers.header
        data = None if seq is None else self._read(seq).data
        return data.header if isinstance(data, RequestHeaderEvent) else None

    def request_context(self) -> RequestContext | None:
        """Give the capacity of the route in force, or None before the first."""
        seq = self._ledger.headers.context
        data = None if seq is None else self._read(seq).data
        return data if isinstance(data, RequestContext) else None

    def transcript(self) -> Any:
        """Give what a person saw, in order; compaction never removes a line of it."""
        return self.project("transcript")

    def project(self, projection: str | Projection[Any, Any], at: int | None = None) -> Any:
        """Give a projection of the log, now or as of the event `at` (inclusive).

        It is named (a built-in one, or one that a plugin brought as `vendor/name`) or given as an object.

        Raises:
            KeyError: no projection has that name.
            IndexError: the log has no event `at`.
        """
        fold = named(projection, self._vocabulary.projections) if isinstance(projection, str) else projection
        if at is None:
            return fold.view(self._fold_to_now(fold), self)
        if not -1 <= at < self.next_seq:
            raise IndexError(f"no event {at}; the log has {self.next_seq}")
        state = fold.init()
        for event in self._events.between(0, at + 1):
            fold.apply(state, event)
        return fold.view(state, self)

    def _fold_to_now(self, fold: Projection[Any, Any]) -> Any:
        """Give the state of a projection now; what was folded before is not folded again."""
        held = self._folds.pop(fold.name, None)  # a fold that is broken off is begun anew
        if held is None or held[0] is not fold:
            version, saved, count = self._saved_folds.get(fold.name, (None, None, 0))
            held = (fold, saved, count) if version == fold.version else (fold, fold.init(), 0)
            self._saved_folds.pop(fold.name, None)
        state = held[1]
        for event in self._events.between(held[2], self.next_seq):
            fold.apply(state, event)
        self._folds[fold.name] = (fold, state, self.next_seq)
        return state

    def _take_in(self, event: Event, data: Any) -> None:
        """Add an event that is to stand in the log, whatever it breaks."""
        newest, self._newest = self._newest, event
        if newest is not None and newest._view is not None:
            force_setattr(newest, "_view", None)  # what is read again makes its own
        events, surface = self._events, self._surface
        events.held.append(event)
        events.end += 1
        if event.surface_op is not None:
            if surface.apply(event):
                self._messages.rewritten()
            else:
                self._messages.joined.append(event.seq)
        self._ledger.apply(event, data, surface._generation)
        if event.seq >= self._next_snapshot:
            self._keep_snapshot(event.seq)
        behind = self._behind
        if behind is not None:
            behind.added.append(event)
            if event.seq >= behind.stir_at:
                self._stir(behind, event.seq)

    def _stir(self, behind: Behind, seq: int) -> None:
        """Have those events stored that were added."""
        behind.stir(seq)

    def _keep_snapshot(self, seq: int) -> None:
        """Remember the ledger as it is; a larger one less often, so that all of them stay small against the log."""
        state = self._ledger.to_bytes()
        self._snapshots.append((seq, state))
        self._next_snapshot = seq + max(_SNAPSHOT_EVERY, len(state) // 16)

    def _state_at(self, seq: int) -> tuple[Surface, Ledger]:
        """Give surface and ledger as they were after the event `seq`, at the cost of a few hundred events."""
        if seq == self.next_seq - 1:
            return self._surface.at(seq), read_ledger(self._ledger.to_bytes(), self._vocabulary)
        start, ledger = self._nearest_snapshot(seq)
        surface = self._surface.at(start - 1) if self._surface.since <= start else Surface()
        if self._surface.since > start:
            start, ledger = 0, new_ledger(self._vocabulary)
        for event in self._events.between(start, seq + 1):
            surface.apply(event)
            ledger.apply(event, typed(event), surface.generation)
        return surface, ledger

    def _nearest_snapshot(self, seq: int) -> tuple[int, Ledger]:
        """Give the latest snapshot of the ledger at or before a seq, as (next seq, ledger)."""
        for at, state in reversed(self._snapshots):
            if at <= seq:
                return at + 1, read_ledger(state, self._vocabulary)
        return 0, new_ledger(self._vocabulary)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {self.next_seq} events>"


def typed(event: Event) -> Any:
    """Give the view of an event's data, or None when it has none that fits."""
    data = cast(Any, event.data)
    return data if hasattr(data, "to_json") else None
