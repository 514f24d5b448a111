"""Salvage: a log anew from what is sound of a damaged one.

Every event that is kept stands at its own seq with its own bytes, so that what cites it still does. Where an
event was lost stands a `salvage/lost` event that says why; or, where the events behind it would break a rule
for want of it, an event that mends that: the end of a step, the result of a call that is not known any more.
An event that cannot be mended for counts as lost too. Nothing is invented that a model or a person said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from everlog.session.event import Event, SurfaceOp
from everlog.session.fork import share
from everlog.session.header import Header
from everlog.session.jsonvalue import encode
from everlog.session.live import Session
from everlog.session.log import typed
from everlog.session.payloads import (
    AssistantAttempt,
    EndSeed,
    LlmRetry,
    Reason,
    StepEnd,
    StepStart,
    ToolCallEvent,
    TurnEnd,
    TurnStart,
)
from everlog.session.repair import answer_for
from everlog.session.rules.calls import call_id_of
from everlog.session.rules.checking import binding, judge
from everlog.session.views import View
from everlog.session.vocabulary import CORE, Vocabulary

LOST = "salvage/lost"

Draft: TypeAlias = "tuple[str, View, SurfaceOp | None, tuple[int, ...] | None]"


class Lost(NamedTuple):
    """An event that could not be read, and why."""

    seq: int
    reason: str


class Salvaged(NamedTuple):
    """What came of it.

    Attributes:
        log: the new log.
        lost: what is not in it, in order, and why.
        mended: how many events took the place of lost ones so that the rest could be kept.
    """

    log: Session
    lost: list[Lost]
    mended: int


def salvage(header: Header, found: Iterable[Event | Lost], vocabulary: Vocabulary = CORE) -> Salvaged:
    """Make a log of the events of a damaged one, which are given in order, each seq once."""
    work = _Salvage(Session(header, vocabulary))
    for item in found:
        if isinstance(item, Lost):
            work.lose(item)
        else:
            work.keep(item)
    work.end()
    return Salvaged(work.log, work.lost, work.mended)


class _Salvage:
    """The log so far, and the seqs before the next event that nothing stands at yet."""

    def __init__(self, log: Session) -> None:
        self.log = log
        self.lost: list[Lost] = []
        self.mended = 0
        self._gap: list[Lost] = []

    def lose(self, lost: Lost) -> None:
        self.lost.append(lost)
        self._gap.append(lost)

    def keep(self, event: Event) -> None:
        """Take an event in, after what mends for the lost ones before it; else it is lost too."""
        broken = _broken(self.log, event)
        drafts = [] if broken is None else _mend(self.log, event, len(self._gap))
        if drafts is None:
            self.lose(Lost(event.seq, f"it cannot stand without what was lost: {broken}"))
            return
        for draft in drafts:
            _take(self.log, draft)
        self.mended += len(drafts)
        self.end()
        self.log._take_in(event, typed(event))

    def end(self) -> None:
        """Mark the seqs at which nothing stands."""
        for lost in self._gap[self.log.next_seq - self._first() :] if self._gap else ():
            _take_event(self.log, LOST, encode({"reason": lost.reason}), ignorable=True)
        self._gap = []

    def _first(self) -> int:
        return self._gap[0].seq


def _broken(log: Session, event: Event) -> str | None:
    """Give the first thing that an event would break, or None."""
    _, violations = judge(event, log.ledger, log.surface, log._read)
    bound = binding(violations)
    return str(bound[0]) if bound else None


def _mend(log: Session, event: Event, room: int) -> list[Draft] | None:
    """Give what has to stand before an event so that it breaks nothing; None when that is not to be had in the room."""
    trial = Session(log.header, log.vocabulary)
    share(trial, log, log.next_seq - 1)
    drafts: list[Draft] = []
    while _broken(trial, event) is not None:
        draft = _next_mend(trial, event) if len(drafts) < room else None
        if draft is None:
            return None
        drafts.append(draft)
        _take(trial, draft)
    return drafts


def _take(log: Session, draft: Draft) -> None:
    name, payload, op, sources = draft
    _take_event(log, name, payload.to_json(), op, sources)


def _take_event(
    log: Session,
    name: str,
    data: bytes,
    op: SurfaceOp | None = None,
    sources: tuple[int, ...] | None = None,
    ignorable: bool = False,
) -> None:
    kind = log.vocabulary.get(name)
    event = Event(
        log.next_seq,
        name,
        log.events[-1].time if log.next_seq else log.header.created_at,
        data,
        op,
        sources,
        ignorable,
        kind,
    )
    log._take_in(event, typed(event))


def _next_mend(log: Session, event: Event) -> Draft | None:
    """Give an event that brings the log nearer to one where `event` may stand; None when there is none."""
    data: Any = typed(event)
    turn, step = getattr(data, "turn", None), getattr(data, "step", 0)
    if turn is None or event.surface_op not in (None, "append"):
        return _between_turns(log, event)
    mends = (_to_turn(log, event, turn), _to_step(log, event, turn, step), _within_step(log, event, data))
    return next((draft for draft in mends if draft is not None), None)


def _between_turns(log: Session, event: Event) -> Draft | None:
    """Leave a compaction behind whose end was lost."""
    if event.type == "compaction/start" and log.ledger.compactions.open is not None:
        return "session/end-seed", EndSeed(), None, None
    return None


def _to_turn(log: Session, event: Event, turn: int) -> Draft | None:
    """Close the open turn when the event is of a later one, and open that."""
    turns = log.ledger.turns
    wants_open = event.type != "turn/start"
    if turns.is_open and (turns.last < turn):
        return _closing(log) or ("turn/end", TurnEnd(turn=turns.last, reason=Reason(kind="interrupted")), None, None)
    if not turns.is_open and log.ledger.compactions.open is not None:
        return "session/end-seed", EndSeed(), None, None
    if not turns.is_open and turns.last + 1 < turn + wants_open:
        return "turn/start", TurnStart(turn=turns.last + 1), None, None
    return None


def _to_step(log: Session, event: Event, turn: int, step: int) -> Draft | None:
    """Close the open step when the event is of a later one or ends the turn, and open that."""
    turns = log.ledger.turns
    if not turns.is_open or turns.last != turn:
        return None
    if turns.step_open and (turns.step < step or event.type == "turn/end"):
        return _closing(log)
    wants_open = bool(step) and event.type != "step/start"
    if not turns.step_open and turns.step + 1 < step + wants_open:
        return "step/start", StepStart(turn=turn, step=turns.step + 1), None, None
    return None


def _closing(log: Session) -> Draft | None:
    """Give what comes next of the end of the open step, or None when none is open."""
    turns = log.ledger.turns
    if not turns.step_open:
        return None
    pending = log.ledger.calls.pending
    if pending:
        return answer_for(log, pending[0])
    return "step/end", StepEnd(turn=turns.last, step=turns.step), None, None


def _within_step(log: Session, event: Event, data: Any) -> Draft | None:
    """Put in place what an event of the open step needs: a call taken up, earlier calls answered, an attempt ended."""
    calls, attempts, turns = log.ledger.calls, log.ledger.attempts, log.ledger.turns
    match event.type:
        case "tool/result" | "tool/settled":
            id = call_id_of(data.message)
            if event.type == "tool/result" and calls.pending and calls.pending[0] != id and id in calls.pending:
                return answer_for(log, calls.pending[0])
            return _call(log, id) if id in calls.pending and id not in calls.taken else None
        case "request/sent" | "assistant/chunk" if attempts.running:
            ended = AssistantAttempt(turn=turns.last, step=turns.step, attempt=attempts.last)
            return "assistant/attempt", ended, None, None
        case "request/sent" | "assistant/chunk" | "assistant/message" if attempts.last and not attempts.retried:
            retried = LlmRetry(turn=turns.last, step=turns.step, attempt=attempts.last)
            return ("llm/retry", retried, None, None) if not attempts.answered else None
        case _ if calls.pending and (event.surface_op == "append" or event.type == "step/end"):
            return answer_for(log, calls.pending[0])
        case _:
            return None


def _call(log: Session, id: str) -> Draft | None:
    """Give the taking up of a call as its block tells it."""
    asked_by = log.ledger.calls.asked_by
    message = getattr(log.events[asked_by].data, "message", None) if asked_by is not None else None
    turns = log.ledger.turns
    for block in message.calls if message is not None else ():
        if block.id == id:
            taken = ToolCallEvent(
                turn=turns.last, step=turns.step, call_id=id, name=block.name, arguments=block.arguments
            )
            return "tool/call", taken, None, None
    return None
