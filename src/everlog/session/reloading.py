"""A log that was kept elsewhere as a session of this process, in memory."""

from __future__ import annotations

from collections.abc import Iterable

from everlog.session.event import Event
from everlog.session.header import Header
from everlog.session.live import Clock, Session
from everlog.session.log import typed
from everlog.session.payloads import EndSeed
from everlog.session.repair import closers
from everlog.session.rules.checking import binding, judge
from everlog.session.vocabulary import CORE, Vocabulary


def reload(
    header: Header, events: Iterable[Event], vocabulary: Vocabulary = CORE, clock: Clock | None = None
) -> Session:
    """Make a session that holds these events and goes on after them.

    A turn that is open at their end is closed, and a session/end-seed stands between what was reloaded and
    what comes, unless the events end in one.

    Raises:
        RuleViolation: an event breaks a rule of the core; such a log can only be looked at, as a `Recording`.
    """
    session = Session(header, vocabulary, clock)
    for event in events:
        data, broken = judge(event, session.ledger, session.surface, session._read)
        if bound := binding(broken):
            raise bound[0]
        session._take_in(event, data)
    for event in closers(session):
        session._take_in(event, typed(event))
    if session.next_seq and session.last_type != "session/end-seed":
        session.append(EndSeed())
    return session
