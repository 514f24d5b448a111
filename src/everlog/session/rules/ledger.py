"""The ledger: what appending needs to know of the log so far, as one plain-JSON state.

`violations` asks every rule that concerns an event; `apply` takes the event in. The two are apart, so that
a refused append leaves no trace and a recording can take in what breaks a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from everlog.session import payloads as p
from everlog.session.errors import RuleViolation
from everlog.session.event import Event, Replace
from everlog.session.messages import Message
from everlog.session.rules import approvals, attempts, calls, compaction, surfaces, turns
from everlog.session.surface import Surface
from everlog.session.views import View

ReadEvent: TypeAlias = Callable[[int], Event]
Finding: TypeAlias = "tuple[str, str | None]"


class Headers(msgspec.Struct):
    """Which header and context are in force.

    Attributes:
        header: the seq of the last request/header, or None.
        generation: the surface's generation when it was written.
        seeded: whether a session/end-seed came after it.
        context: the seq of the last request/context, or None.
    """

    header: int | None = None
    generation: int = 0
    seeded: bool = False
    context: int | None = None


class Ledger(msgspec.Struct):
    """The states of all rules. `to_bytes` and `from_bytes` are exact."""

    turns: turns.Turns = msgspec.field(default_factory=turns.Turns)
    attempts: attempts.Attempts = msgspec.field(default_factory=attempts.Attempts)
    calls: calls.Calls = msgspec.field(default_factory=calls.Calls)
    approvals: approvals.Approvals = msgspec.field(default_factory=approvals.Approvals)
    compactions: compaction.Compactions = msgspec.field(default_factory=compaction.Compactions)
    headers: Headers = msgspec.field(default_factory=Headers)
    last_type: str | None = None
    last_time: int = 0
    step_started: int | None = None

    def to_bytes(self) -> bytes:
        """Give the state as JSON bytes."""
        return _encode(self)

    @staticmethod
    def from_bytes(data: bytes) -> Ledger:
        """Give the state that `to_bytes` wrote."""
        return _decode(data)

    def violations(self, event: Event, data: Any, surface: Surface, read: ReadEvent) -> list[RuleViolation]:
        """Give what the event breaks, in the order of the rules; an empty list when it may be appended."""
        found: list[RuleViolation] = []
        for rule, expected in self._findings(event, data, surface, read):
            if expected is not None:
                found.append(RuleViolation(event.seq, event.type, rule, expected))
        return found

    def _findings(self, event: Event, data: Any, surface: Surface, read: ReadEvent) -> Iterator[Finding]:
        op = event.surface_op
        if op is not None:
            yield "surface.sources", surfaces.check_sources(event)
            if isinstance(op, Replace):
                yield from self._replace(event, op, data, surface, read)
                return
            yield "surface.append", surfaces.check_append(event, surface)
            if event.type != "tool/result":
                yield "calls.answered-first", calls.check_surface_append(self.calls)
        place = _PLACES.get(event.type)
        if place is not None:
            yield place(self)
        check = _CHECKS.get(event.type)
        if check is not None and data is not None:
            yield from check(self, data, read)

    def _replace(self, event: Event, op: Replace, data: Any, surface: Surface, read: ReadEvent) -> Iterator[Finding]:
        ends = surfaces.check_replace(event, op, surface)
        yield "surface.replace", ends
        span = surface.span(op)
        if span is None or span[0] > span[1]:
            return
        shadowed = surface.slice(span[0], span[1] + 1)
        yield "surface.pairs", surfaces.check_pairs(event, op, surface, self.calls, read)
        if isinstance(data, Message):
            yield "compaction.replacement", compaction.check_replacement(self.compactions, data, shadowed)
        elif isinstance(data, View):
            yield "surface.place", surfaces.check_place(event, data, shadowed, read)
        if isinstance(data, p.ToolResultEvent):
            yield "surface.rewrite", surfaces.check_rewrite(event, data, shadowed, read)
            yield "compaction.prune", compaction.check_pruned_result(self.compactions, self.turns.open_turn)

    def apply(self, event: Event, data: Any, generation: int) -> None:
        """Take an event in; `generation` is the surface's after it. Total: any event of any log may come."""
        self.last_type, self.last_time = event.type, event.time
        replaced = isinstance(event.surface_op, Replace)
        if event.type == "request/header":
            self.headers.header, self.headers.generation, self.headers.seeded = event.seq, generation, False
        elif event.type == "request/context":
            self.headers.context = event.seq
        elif event.type == "session/end-seed":
            self.headers.seeded = True
            compaction.release(self.compactions)
        elif data is not None:
            change = (_REPLACED if replaced else _CHANGES).get(event.type)
            if change is not None:
                change(self, data, event.seq)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Ledger).decode

Check: TypeAlias = Callable[[Ledger, Any, ReadEvent], Iterator[Finding]]
Change: TypeAlias = Callable[[Ledger, Any, int], None]


def _in_step(ledger: Ledger, data: Any) -> Finding:
    return "turns.in-step", turns.inside_step(ledger.turns, data.turn, data.step)


def _turn_start(ledger: Ledger, data: p.TurnStart, read: ReadEvent) -> Iterator[Finding]:
    yield "turns.turn-start", turns.check_turn_start(ledger.turns, data)
    yield "compaction.crossed", compaction.check_turn_start(ledger.compactions)


def _turn_end(ledger: Ledger, data: p.TurnEnd, read: ReadEvent) -> Iterator[Finding]:
    yield "turns.turn-end", turns.check_turn_end(ledger.turns, data)
    yield "compaction.crossed", compaction.check_turn_end(ledger.compactions, data)


def _step_start(ledger: Ledger, data: p.StepStart, read: ReadEvent) -> Iterator[Finding]:
    yield "turns.step-start", turns.check_step_start(ledger.turns, data)


def _step_end(ledger: Ledger, data: p.StepEnd, read: ReadEvent) -> Iterator[Finding]:
    yield "turns.step-end", turns.check_step_end(ledger.turns, data)
    yield "calls.answered-first", calls.check_surface_append(ledger.calls)


def _stands_in_step(ledger: Ledger) -> Finding:
    return "turns.in-step", None if ledger.turns.step_open else "a place inside a step"


def _stands_in_turn(ledger: Ledger) -> Finding:
    return "turns.in-turn", None if ledger.turns.is_open else "a place inside a turn"


def _step_scoped(ledger: Ledger, data: Any, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)


def _sent(ledger: Ledger, data: p.RequestSent, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "attempts.sent", attempts.check_sent(ledger.attempts, data)


def _chunk(ledger: Ledger, data: p.AssistantChunk, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "attempts.chunk", attempts.check_chunk(ledger.attempts, data)


def _message(ledger: Ledger, data: p.AssistantMessage, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "attempts.message", attempts.check_message(ledger.attempts)


def _attempt(ledger: Ledger, data: p.AssistantAttempt, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "attempts.attempt", attempts.check_attempt(ledger.attempts, data)


def _retry(ledger: Ledger, data: p.LlmRetry, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "attempts.retry", attempts.check_retry(ledger.attempts, data)


def _call(ledger: Ledger, data: p.ToolCallEvent, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "calls.call", calls.check_call(ledger.calls, data)


def _settled(ledger: Ledger, data: p.ToolSettled, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "calls.settled", calls.check_settled(ledger.calls, data)


def _result(ledger: Ledger, data: p.ToolResultEvent, read: ReadEvent) -> Iterator[Finding]:
    yield _in_step(ledger, data)
    yield "calls.result", calls.check_result(ledger.calls, data, lambda seq: read(seq).data)


def _asked(ledger: Ledger, data: p.ApprovalAsked, read: ReadEvent) -> Iterator[Finding]:
    yield "approvals.asked", approvals.check_asked(ledger.approvals, data)


def _decided(ledger: Ledger, data: p.ApprovalDecided, read: ReadEvent) -> Iterator[Finding]:
    yield "approvals.decided", approvals.check_decided(ledger.approvals, data)


def _compaction_start(ledger: Ledger, data: p.CompactionStart, read: ReadEvent) -> Iterator[Finding]:
    expected = compaction.check_start(ledger.compactions, data, ledger.turns.open_turn)
    yield "compaction.start", expected


def _compaction_summary(ledger: Ledger, data: p.CompactionSummary, read: ReadEvent) -> Iterator[Finding]:
    yield "compaction.summary", compaction.check_summary(ledger.compactions, data)


def _compaction_prune(ledger: Ledger, data: p.CompactionPrune, read: ReadEvent) -> Iterator[Finding]:
    expected = compaction.check_prune(ledger.compactions, data, ledger.turns.open_turn)
    yield "compaction.prune", expected


def _compaction_end(ledger: Ledger, data: p.CompactionEnd, read: ReadEvent) -> Iterator[Finding]:
    yield "compaction.end", compaction.check_end(ledger.compactions, data)


_CHECKS: dict[str, Check] = {
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "step/start": _step_start,
    "step/end": _step_end,
    "system/message": _step_scoped,
    "developer/message": _step_scoped,
    "request/sent": _sent,
    "assistant/chunk": _chunk,
    "assistant/message": _message,
    "assistant/attempt": _attempt,
    "llm/retry": _retry,
    "tool/call": _call,
    "tool/settled": _settled,
    "tool/result": _result,
    "approval/asked": _asked,
    "approval/decided": _decided,
    "compaction/start": _compaction_start,
    "compaction/summary": _compaction_summary,
    "compaction/prune": _compaction_prune,
    "compaction/end": _compaction_end,
}

_PLACES: dict[str, Callable[[Ledger], Finding]] = {
    "request/header": _stands_in_step,
    "request/context": _stands_in_step,
    "todo/write": _stands_in_turn,
    "workspace/snapshot": _stands_in_turn,
}


def _apply_turn_end(ledger: Ledger, data: p.TurnEnd, seq: int) -> None:
    turns.apply_turn_end(ledger.turns, data)
    calls.apply_step_start(ledger.calls)
    if data.reason.kind in compaction.LEFT_BEHIND:
        compaction.release(ledger.compactions)


def _apply_step_start(ledger: Ledger, data: p.StepStart, seq: int) -> None:
    turns.apply_step_start(ledger.turns, data)
    attempts.apply_step_start(ledger.attempts)
    calls.apply_step_start(ledger.calls)
    approvals.apply_step_start(ledger.approvals)
    ledger.step_started = seq


def _apply_message(ledger: Ledger, data: p.AssistantMessage, seq: int) -> None:
    attempts.apply_message(ledger.attempts)
    calls.apply_message(ledger.calls, data, seq)


_CHANGES: dict[str, Change] = {
    "turn/start": lambda ledger, data, seq: turns.apply_turn_start(ledger.turns, data),
    "turn/end": _apply_turn_end,
    "step/start": _apply_step_start,
    "step/end": lambda ledger, data, seq: turns.apply_step_end(ledger.turns, data),
    "request/sent": lambda ledger, data, seq: attempts.apply_sent(ledger.attempts, data),
    "assistant/chunk": lambda ledger, data, seq: attempts.apply_chunk(ledger.attempts, data),
    "assistant/message": _apply_message,
    "assistant/attempt": lambda ledger, data, seq: attempts.apply_attempt(ledger.attempts, data),
    "llm/retry": lambda ledger, data, seq: attempts.apply_retry(ledger.attempts, data),
    "tool/call": lambda ledger, data, seq: calls.apply_call(ledger.calls, data, seq),
    "tool/settled": lambda ledger, data, seq: calls.apply_settled(ledger.calls, data, seq),
    "tool/result": lambda ledger, data, seq: calls.apply_result(ledger.calls, data),
    "approval/asked": lambda ledger, data, seq: approvals.apply_asked(ledger.approvals, data),
    "approval/decided": lambda ledger, data, seq: approvals.apply_decided(ledger.approvals, data),
    "compaction/start": lambda ledger, data, seq: compaction.apply_start(ledger.compactions, data),
    "compaction/summary": lambda ledger, data, seq: compaction.apply_summary(ledger.compactions, data, seq),
    "compaction/end": lambda ledger, data, seq: compaction.release(ledger.compactions),
}

_REPLACED: dict[str, Change] = {
    "user/message": lambda ledger, data, seq: compaction.apply_replacement(ledger.compactions, data),
}
