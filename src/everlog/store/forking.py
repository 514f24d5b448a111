"""Forking: a child that holds the first events of a session, of one that is written here or of what is stored."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from everlog.session.eventlist import EventList
from everlog.session.fork import child_header, end_inherited, fork_point, inherit
from everlog.session.header import Header
from everlog.session.live import OpenTurn
from everlog.session.log import Log
from everlog.session.restoring import hand_over
from everlog.session.rules.checking import binding
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import Backend, End, Lease
from everlog.store.durable import DurableSession
from everlog.store.errors import RecordingOnly
from everlog.store.events import StoredEvents
from everlog.store.opening import chain_at, demand_sound, load, stored_header


class Forked(NamedTuple):
    """A child that is not stored yet.

    Attributes:
        child: the session.
        types: the types of its events that are not ignorable.
        covered: how many of them a checkpoint of the parent covers.
    """

    child: DurableSession
    types: set[str]
    covered: int


def fork_live(parent: DurableSession, open_turn: OpenTurn) -> Forked:
    """Make a child of all events of a session that is written here, and has been flushed. Raises ForkRefused."""
    seq = parent.next_seq - 1
    child = DurableSession(child_header(parent, seq), parent.vocabulary, parent._clock)
    inherit(child, parent, seq, open_turn)
    hand_over(parent, child)
    return Forked(child, set(parent._writing.types), parent._covered)


def fork_stored(events: StoredEvents, id: str, vocabulary: Vocabulary, at: int | None, open_turn: OpenTurn) -> Forked:
    """Make a child of the stored events 0..`at`, or of all.

    Raises:
        ForkRefused: `at` stands inside an open turn and `open_turn` is not `"close"`, or there is no such event.
        RecordingOnly: the parent was imported, and breaks a rule at or before `at`.
        SessionCorrupt, UnknownEvents: what is inherited cannot be appended to.
    """
    parent = Log(stored_header(id, events.reader), vocabulary)
    parent._events = EventList([], events, events.reader.end().next_seq)
    seq = fork_point(parent, at)
    child = DurableSession(child_header(parent, seq), vocabulary)
    loaded = load(child, events, seq + 1)
    if binding(loaded.violations) and parent.header.recording:
        raise RecordingOnly(id)
    demand_sound(id, loaded)
    end_inherited(child, parent, seq, open_turn)
    return Forked(child, loaded.types, loaded.covered)


def begin_fork(backend: Backend, parent: str, header: Header) -> Lease:
    """Have the store begin the child, where its header says that it leaves the parent; on the writer's thread."""
    count = header.inherited_events or 0
    with closing(backend.reader(parent)) as reader:
        at = End(count, chain_at(reader, count))
    return backend.fork(parent, at, header)
