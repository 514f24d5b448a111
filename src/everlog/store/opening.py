"""Opening: from stored records to a log, by way of the newest checkpoint that fits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from everlog.session.errors import FormatUnsupported, RuleViolation, SessionCorrupt
from everlog.session.event import Event
from everlog.session.header import FORMAT, Header, read_header
from everlog.session.log import Log
from everlog.session.payloads import ToolCallEvent
from everlog.session.repair import Verdict, is_started
from everlog.session.restoring import restore, take_in_stored
from everlog.session.rules.checking import binding
from everlog.store import checkpoints
from everlog.store.backend import Reader
from everlog.store.chain import START, is_sound
from everlog.store.errors import UnknownEvents
from everlog.store.events import StoredEvents

Effects: TypeAlias = "Literal['read-only', 'idempotent', 'mutating'] | None"
Probe: TypeAlias = Callable[[ToolCallEvent, Effects], Awaitable[Verdict]]
"""Looks at the world for the outcome of a call that the log does not tell; gets what the log says of its effects."""


@dataclass(frozen=True)
class Loaded:
    """What loading found out.

    Attributes:
        covered: how many events the checkpoint covered that was used.
        types: the types of the events that are not ignorable.
        unknown: those that the vocabulary does not know.
        violations: what the events after the checkpoint break.
    """

    covered: int
    types: set[str]
    unknown: tuple[str, ...]
    violations: list[RuleViolation]


def stored_header(id: str, reader: Reader) -> Header:
    """Read the header of a stored session.

    Raises:
        SessionCorrupt: it is damaged.
        FormatUnsupported: it is of a later format.
    """
    try:
        header = read_header(reader.header)
    except ValueError as error:
        raise SessionCorrupt(id, None, str(error)) from None
    if header.format > FORMAT:
        raise FormatUnsupported(f"session {id}", str(header.format), f"formats up to {FORMAT}")
    return header


def chain_at(reader: Reader, count: int) -> bytes:
    """Give the chain after the first `count` events; empty when there are not so many."""
    if count > reader.end().next_seq:
        return b""
    return next(iter(reader.pick([count - 1]))).chain if count else START


def demand_sound(id: str, loaded: Loaded) -> None:
    """Refuse what must not be appended to. Raises UnknownEvents, SessionCorrupt."""
    if loaded.unknown:
        raise UnknownEvents(id, loaded.unknown)
    if bound := binding(loaded.violations):
        first = bound[0]
        raise SessionCorrupt(id, first.seq, str(first))


def load(log: Log, events: StoredEvents, stop: int | None = None) -> Loaded:
    """Bring an empty log to the seq `stop`, or to the stored end: read what stands after the newest fitting checkpoint.

    Raises:
        SessionCorrupt: an event that had to be read is damaged.
    """
    if stop is None:
        stop = events.reader.end().next_seq
    types = set(_restored(log, events, stop))
    covered = log.next_seq
    violations = take_in_stored(log, _noting(types, events.read(covered, stop)), events)
    unknown = tuple(sorted(types - log.vocabulary.keys()))
    return Loaded(covered, types, unknown, violations)


def _restored(log: Log, events: StoredEvents, stop: int) -> Iterable[str]:
    """Restore the log from the newest checkpoint that fits, and give the event types up to there."""
    for seq, data in events.reader.checkpoints():
        kept = checkpoints.unpack(data)
        if kept is None or kept.seq != seq or not 0 <= seq < stop:
            continue
        record = next(iter(events.reader.pick([seq])))
        if record.chain == kept.chain and is_sound(*record) and restore(log, kept.state, seq + 1, events):
            return kept.types
    return ()


def _noting(types: set[str], events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        if not event.ignorable:
            types.add(event.type)
        yield event


async def verdicts(log: Log, probe: Probe | None) -> Mapping[str, Verdict]:
    """Ask the probe about each call whose outcome the log does not tell; by call id."""
    found: dict[str, Verdict] = {}
    calls = log.ledger.calls
    if probe is None or not log.ledger.turns.step_open:
        return found
    for id in calls.pending:
        if id in calls.settled or not is_started(log, id):
            continue
        call = log.events[calls.taken[id]].data
        if isinstance(call, ToolCallEvent):
            found[id] = await probe(call, _effects(log, call.name))
    return found


def _effects(log: Log, tool: str) -> Any:
    """Give what the header in force says of a tool's effects, or None."""
    header = log.request_header()
    offered = header.tools if header is not None else None
    for entry in offered if isinstance(offered, list) else ():
        if isinstance(entry, dict) and entry.get("name") == tool:
            return entry.get("effects")
    return None
