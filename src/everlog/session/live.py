"""The session: a log that this program admits event by event."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import get_ident
from time import time_ns
from typing import Any, Literal, TypeAlias, cast

from everlog.session.errors import AppendRefused
from everlog.session.event import Event, Replace, SurfaceOp
from everlog.session.header import Header, new_header, read_header
from everlog.session.jsonvalue import MAX_DEPTH, NotJSON, decode, encode, encode_plain, one_line
from everlog.session.log import Log
from everlog.session.views import View
from everlog.session.vocabulary import CORE, EventType, Vocabulary

Clock: TypeAlias = Callable[[], int]
Observer: TypeAlias = Callable[[Event], None]
OpenTurn: TypeAlias = Literal["refuse", "close"]
SurfaceArgument: TypeAlias = "str | Replace | dict[str, Any] | None"

_UNKNOWN = "an unknown event type; mark it ignorable or add it to the vocabulary"

_log = logging.getLogger("everlog.session")

_LATEST = 2**53 - 1
"""The largest time that every reader of the log holds exactly, in milliseconds."""


class Session(Log):
    """A log that grows by `append`, which commits an event completely or changes nothing.

    A session belongs to the thread that made it.
    """

    def __init__(self, header: Header, vocabulary: Vocabulary = CORE, clock: Clock | None = None) -> None:
        super().__init__(header, vocabulary)
        self._clock = clock
        self._types = vocabulary.types
        self._thread = get_ident()
        self._observers: list[Observer] = []
        self._observing = False

    @classmethod
    def create(
        cls,
        header: Header | dict[str, Any] | None = None,
        vocabulary: Vocabulary = CORE,
        clock: Clock | None = None,
    ) -> Session:
        """Begin a session with an empty log.

        `clock` gives milliseconds since the epoch. A header may be given as its JSON object, of which only
        `id` and `createdAt` are filled in when they are missing.
        """
        return cls(_header(header, clock), vocabulary, clock)

    def append(
        self,
        payload: View,
        surface: SurfaceArgument = None,
        sources: Sequence[int] | None = None,
        ignorable: bool = False,
    ) -> Event:
        """Append a typed payload; see `append_json`."""
        name = _type_of(self._vocabulary, payload)
        return self._append(name, _bytes_of(name, payload), surface, sources, ignorable)

    def append_json(
        self,
        type: str,
        data: object,
        surface: SurfaceArgument = None,
        sources: Sequence[int] | None = None,
        ignorable: bool = False,
    ) -> Event:
        """Append an event by its storage names, and give it.

        `surface` is `"append"` or a `Replace` (or its JSON object) for a surface type, and None for the
        others; `sources` are the seqs of earlier events that it cites.

        Raises:
            AppendRefused: the data is not JSON or not of the type's shape, or the type is unknown and the
                event not `ignorable`. Nothing was changed.
            RuleViolation: the event breaks a rule of the log. Nothing was changed.
            RuntimeError: another thread appends, or an observer does.
        """
        encoded = encode_plain(data)
        if encoded is not None:
            return self._append(type, encoded, surface, sources, ignorable, data)
        try:
            encoded = encode(data)
        except NotJSON as error:
            raise AppendRefused(str(type), error.reason, error.path) from None
        return self._append(type, encoded, surface, sources, ignorable)

    def _append(
        self,
        type: str,
        data: bytes,
        surface: SurfaceArgument,
        sources: Sequence[int] | None,
        ignorable: bool,
        value: object = None,
    ) -> Event:
        """Append an event by the bytes of its data; `value` is what these are the JSON of, where that is at hand."""
        if get_ident() != self._thread or self._observing:
            self._refuse_caller()
        try:
            kind = self._types[type] if ignorable is False else self._kind(type, ignorable)
        except (KeyError, TypeError):
            raise AppendRefused(str(type), _UNKNOWN) from None
        type = _plain_name(type) if kind is None else kind.name
        try:
            judged: Any = None if kind is None else kind.check(data, value)
        except ValueError as error:
            raise AppendRefused(type, str(error)) from None
        on_surface = kind is not None and kind.surface
        op: SurfaceOp | None = None
        if surface == "append" and on_surface:
            op = "append"
        elif on_surface or surface is not None:
            op = _surface_op(type, on_surface, surface)
        cited = None if sources is None else _sources(type, on_surface, sources)
        time = time_ns() // 1_000_000 if self._clock is None else _whole(type, self._clock())
        view = None if kind is None or kind.part is not None else judged
        event = Event(self._events.end, type, time, data, op, cited, ignorable, kind, None, view)
        violations = self._ledger.violations(event, judged, self._surface, self._read)
        if violations:
            raise violations[0]
        self._take_in(event, judged)
        if self._observers:
            self._tell(event)
        return event

    def _refuse_caller(self) -> None:
        if self._observing:
            raise RuntimeError("an observer may not append; do so after the append that it observes")
        raise RuntimeError(f"session {self.id} belongs to another thread; append from the one that made it")

    def _kind(self, name: str, ignorable: bool) -> EventType | None:
        """Give the type of an event that a reader may skip; None for an unknown one."""
        if ignorable is not True:
            raise AppendRefused(str(name), "ignorable is true or false")
        if not isinstance(name, str) or not name:
            raise AppendRefused(str(name), "a type is named by text")
        return self._types.get(name)

    def _tell(self, event: Event) -> None:
        self._observing = True
        try:
            for observer in tuple(self._observers):
                try:
                    observer(event)
                except Exception:
                    _log.exception("an observer of session %s failed at seq %d", self.id, event.seq)
        finally:
            self._observing = False

    def fork(self, at: int | None = None, open_turn: OpenTurn = "refuse") -> Session:
        """Make a session that holds the events 0..`at`; see `everlog.session.fork.fork`.

        Raises:
            ForkRefused: `at` stands inside an open turn and `open_turn` is not `"close"`, or there is no such event.
        """
        from everlog.session.fork import fork

        return fork(self, at, open_turn, clock=self._clock)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with each event right after its commit, in order; give what ends that.

        An observer that raises is logged and contained; one that appends is refused.
        """
        self._observers.append(observer)

        def undo() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return undo


def _whole(name: str, time: object) -> int:
    """Give a time that the clock gave as a float, as many do; refuse what is no whole number."""
    if isinstance(time, float) and time.is_integer():
        time = int(time)
    if type(time) is int and -_LATEST <= time <= _LATEST:
        return time
    raise AppendRefused(name, f"the clock gave {time!r}; an event has whole milliseconds as its time")


def _header(header: Header | dict[str, Any] | None, clock: Clock | None) -> Header:
    if isinstance(header, Header):
        return header
    fresh = new_header(created_at=clock() if clock else None)
    if header is None:
        return fresh
    try:
        return read_header(encode({"id": fresh.id, "createdAt": fresh.created_at, **header}))
    except ValueError as error:
        raise ValueError(f"the header of a session: {error}") from None


def _plain_name(name: str) -> str:
    """Give the name of an unknown type as plain text; refuse one that JSON could not hold."""
    try:
        return cast(str, decode(encode(name)))
    except NotJSON as error:
        raise AppendRefused(repr(name), error.reason) from None


def _type_of(vocabulary: Vocabulary, payload: View) -> str:
    found = vocabulary.name_of(type(payload))
    if found is None:
        raise AppendRefused(type(payload).__name__, "no event type of the vocabulary has this payload")
    return found


def _bytes_of(type: str, payload: View) -> bytes:
    """Give the bytes of a payload, on one line; in those of one read elsewhere may stand what no value can hold."""
    try:
        data = payload.to_json()
        value = decode(data)
        if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
            encode(value)
    except NotJSON as error:
        raise AppendRefused(type, error.reason, error.path) from None
    except ValueError as error:
        raise AppendRefused(type, str(error)) from None
    return one_line(data)


def _surface_op(type: str, on_surface: bool, surface: object) -> SurfaceOp:
    """Give the surface operation in its one form, or refuse it."""
    if not on_surface:
        raise AppendRefused(type, "not a surface type; it carries no surface operation")
    if surface == "append":
        return "append"
    if isinstance(surface, dict):
        if surface.keys() != {"op", "startSeq", "endSeq"} or surface["op"] != "replace":
            raise AppendRefused(type, 'a replace is {"op": "replace", "startSeq": a, "endSeq": b}')
        surface = Replace(surface["startSeq"], surface["endSeq"])
    if not isinstance(surface, Replace):
        raise AppendRefused(type, 'a surface event needs surface="append" or a Replace')
    return Replace(_seq(type, surface.start_seq), _seq(type, surface.end_seq))


def _sources(name: str, on_surface: bool, sources: object) -> tuple[int, ...]:
    if not on_surface:
        raise AppendRefused(name, "not a surface type; it cites no sources")
    if not isinstance(sources, list | tuple):
        raise AppendRefused(name, "sources are a list of seqs")
    return tuple([seq if type(seq) is int else _seq(name, seq) for seq in sources])


def _seq(type: str, value: object) -> int:
    """Give a seq; a whole number written as a float, as JSON text may, counts as one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)  # an enum's member may print itself as something else
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise AppendRefused(type, f"{value!r} is not a seq")
