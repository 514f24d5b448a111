"""Saving what a log knows of its events, and restoring a log from that without reading them.

The saved state holds what appending and the next request need, the surface and the ledger, and the states
of the projections that were folded so far, each with the number of events that it has taken in. It is plain JSON.
One that another version wrote is not used.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec
from msgspec import Raw

from everlog.session.errors import RuleViolation
from everlog.session.event import Event
from everlog.session.eventlist import EventList, EventSource
from everlog.session.jsonvalue import NotJSON, encode
from everlog.session.log import Log
from everlog.session.rules.checking import judge
from everlog.session.rules.ruled import RuledLedger, read_ledger
from everlog.session.surface import Surface

STATE_VERSION = 2
"""Rises when the surface or the ledger of the same events would be another."""

_FREED_EVERY = 1024

_log = logging.getLogger("everlog.session")


class _Fold(msgspec.Struct, array_like=True):
    version: int
    state: Raw
    count: int


class _State(msgspec.Struct):
    version: int
    next_seq: int
    nodes: list[int]
    generation: int
    system: int | None
    ledger: Raw
    folds: dict[str, _Fold]


_decode = msgspec.json.Decoder(_State).decode
_encode = msgspec.json.Encoder().encode


def save(log: Log) -> bytes:
    """Give the state of a log now. Projections that it folded are brought up to now.

    Those that it was restored with, and that nobody has asked for since, are kept as they are: a session that is
    only forked, or opened and closed, does not forget what the next one to open it needs.
    """
    surface = log.surface
    waiting = {
        name: _Fold(version, Raw(encode(state)), count) for name, (version, state, count) in log._saved_folds.items()
    }
    folded = {name: fold for name in tuple(log._folds) if (fold := _saved_fold(log, name)) is not None}
    folds = {**waiting, **folded}
    ledger = Raw(log.ledger.to_bytes())
    nodes = list(surface.nodes)
    return _encode(_State(STATE_VERSION, log.next_seq, nodes, surface.generation, surface.system, ledger, folds))


def _saved_fold(log: Log, name: str) -> _Fold | None:
    """Give the state of a projection that was folded before; None when it fails or its state is not JSON."""
    projection = log._folds[name][0]
    try:
        return _Fold(projection.version, Raw(encode(log._fold_to_now(projection))), log.next_seq)
    except NotJSON:
        return None
    except Exception:  # of a plugin: what it cannot fold must not keep the rest from being saved
        _log.exception("the projection %s failed on session %s", name, log.id)
        return None


def hand_over(log: Log, child: Log) -> None:
    """Let a fork that begins at the end of a log know what was folded of it; it owns a copy."""
    folds = {name: (fold.version, state, count) for name, (fold, state, count) in log._folds.items()}
    for name, (version, state, count) in {**log._saved_folds, **folds}.items():
        try:
            child._saved_folds[name] = (version, msgspec.json.decode(encode(state)), count)
        except NotJSON:
            continue


def restore(log: Log, saved: bytes, next_seq: int, source: EventSource) -> bool:
    """Bring an empty log to where `save` was called on it; its events are read from the source when asked for.

    False, and nothing is changed, when the state is of another version or of another number of events, or when it
    lacks a rule that a plugin brought since, or one that failed.
    """
    try:
        state = _decode(saved)
        ledger = read_ledger(bytes(state.ledger), log.vocabulary)
    except (msgspec.MsgspecError, ValueError):
        return False
    if state.version != STATE_VERSION or state.next_seq != next_seq:
        return False
    if isinstance(ledger, RuledLedger) and ledger.has_failed:
        return False
    log._surface = Surface(state.nodes, state.generation, state.system, state.next_seq)
    log._ledger = ledger
    log._events = EventList([], source, state.next_seq)
    log._snapshots = [(state.next_seq - 1, bytes(state.ledger))] if state.next_seq else []
    log._next_snapshot = state.next_seq
    log._messages.rewritten()
    log._saved_folds = {
        name: (fold.version, msgspec.json.decode(fold.state), fold.count) for name, fold in state.folds.items()
    }
    return True


def take_in_stored(log: Log, events: Iterable[Event], source: EventSource) -> list[RuleViolation]:
    """Take in the events that follow, which the source holds, and give what they break.

    They are not held in memory: who asks for one later reads it from the source.
    """
    found: list[RuleViolation] = []
    for event in events:
        data, broken = judge(event, log.ledger, log.surface, log._read)
        found += broken
        log._take_in(event, data)
        if event.seq % _FREED_EVERY == 0:
            _let_go(log, source)
    _let_go(log, source)
    return found


def _let_go(log: Log, source: EventSource) -> None:
    log._events = EventList([], source, log.next_seq)
