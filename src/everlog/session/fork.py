"""Forks: a new identity that holds the parent's events up to a seq, and then lives its own life."""

from __future__ import annotations

from everlog.session.errors import ForkRefused
from everlog.session.event import Event
from everlog.session.header import Header, new_header
from everlog.session.live import Clock, OpenTurn, Session
from everlog.session.log import Log, typed
from everlog.session.payloads import EndSeed
from everlog.session.repair import closers


def fork(
    log: Log,
    at: int | None = None,
    open_turn: OpenTurn = "refuse",
    header: Header | None = None,
    clock: Clock | None = None,
) -> Session:
    """Make a session that holds the events 0..`at` of a log (all of them when `at` is None).

    After them stands `session/end-seed {inherited}`, unless they end in one, and then, with
    `open_turn="close"`, what closes a turn that is open at `at`. The log is not touched. In memory the events
    are shared.

    Raises:
        ForkRefused: `at` stands inside an open turn, or the log has no such event.
    """
    seq = fork_point(log, at)
    child = Session(header or child_header(log, seq), log.vocabulary, clock)
    inherit(child, log, seq, open_turn)
    return child


def fork_point(log: Log, at: int | None) -> int:
    """Give the seq of the last event to inherit: `at`, or that of the last event when it is None.

    Raises:
        ForkRefused: the log has no such event.
    """
    seq = log.next_seq - 1 if at is None else at
    if at is not None and not _is_seq(log, at):
        reason = f"the log has the events 0 to {log.next_seq - 1}"
        raise ForkRefused(seq, reason, *boundaries(log, seq), code="INVALID_BOUNDARY")
    return seq


def inherit(child: Session, log: Log, seq: int, open_turn: OpenTurn) -> None:
    """Fill an empty session with the events 0..`seq` of a log, and with those that end what it inherits.

    Raises:
        ForkRefused: `seq` stands inside an open turn and `open_turn` is not `"close"`; the session is of no use then.
    """
    share(child, log, seq)
    end_inherited(child, log, seq, open_turn)


def end_inherited(child: Session, log: Log, seq: int, open_turn: OpenTurn) -> None:
    """End what a session inherited, the events 0..`seq` of a log: by an end-seed and, when asked to, by closers.

    Raises:
        ForkRefused: as `inherit`.
    """
    if child.ledger.turns.is_open and open_turn != "close":
        raise ForkRefused(seq, f"turn {child.ledger.turns.last} is open there", *boundaries(log, seq))
    end_seed(child)
    for event in closers(child, "forked"):
        child._take_in(event, typed(event))


def _is_seq(log: Log, at: object) -> bool:
    return type(at) is int and 0 <= at < log.next_seq


def child_header(log: Log, seq: int) -> Header:
    """Make the header of a session that inherits the events 0..`seq` of a log."""
    depth = log.header.delegation_depth
    return new_header(
        cwd=log.header.cwd,
        parent_session=log.id,
        inherited_events=seq + 1,
        origin="fork",
        delegation_depth=depth,
    )


def share(child: Session, log: Log, seq: int) -> None:
    """Fill an empty session with the events 0..`seq` of a log, and with nothing else."""
    child._surface, child._ledger = log._state_at(seq)
    child._events = log.events.prefix(seq + 1)
    child._messages = log._messages.copy(child._pick, seq + 1)
    child._snapshots = [entry for entry in log._snapshots if entry[0] <= seq]
    child._next_snapshot = seq + 1


def end_seed(session: Session) -> Event | None:
    """End what a session inherited with an event of its own, unless the log ends in one already."""
    if session.last_type == "session/end-seed":
        return None
    time = session.events[-1].time if session.next_seq else session.header.created_at
    data = EndSeed(inherited=True)
    kind = session.vocabulary.get("session/end-seed")
    event = Event(session.next_seq, "session/end-seed", time, data.to_json(), kind=kind)
    session._take_in(event, data)
    return event


def boundaries(log: Log, seq: int) -> tuple[int | None, int | None]:
    """Give the nearest seqs at or before, and after, which no turn is open; None where there is none."""
    before: int | None = None
    is_open = False
    for event in log.events:
        if event.type == "turn/start":
            is_open = True
        elif event.type == "turn/end":
            is_open = False
        if is_open:
            continue
        if event.seq > seq:
            return before, event.seq
        before = event.seq
    return before, None
