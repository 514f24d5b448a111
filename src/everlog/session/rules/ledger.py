"""The ledger: what appending needs to know of the log so far, as one plain-JSON state.

`violations` asks every rule that concerns an event; `apply` takes the event in. The two are apart, so that
a refused append leaves no trace and a recording can take in what breaks a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from everlog.session import payloads as p
from everlog.session.errors import RuleViolation
from everlog.session.event import Event, Replace, SurfaceOp
from everlog.session.messages import Message
from everlog.session.rules import approvals, attempts, calls, compaction, surfaces, turns
from everlog.session.surface import Surface
from everlog.session.views import View

ReadEvent: TypeAlias = Callable[[int], Event]
Finding: TypeAlias = "tuple[str, str | None]"


@dataclass(slots=True)
class Headers:
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


@dataclass(slots=True)
class Ledger:
    """The states of all rules. `to_bytes` and `from_bytes` are exact."""

    turns: turns.Turns = field(default_factory=turns.Turns)
    attempts: attempts.Attempts = field(default_factory=attempts.Attempts)
    calls: calls.Calls = field(default_factory=calls.Calls)
    approvals: approvals.Approvals = field(default_factory=approvals.Approvals)
    compactions: compaction.Compactions = field(default_factory=compaction.Compactions)
    headers: Headers = field(default_factory=Headers)
    step_started: int | None = None
    generation: int = 0

    def to_bytes(self) -> bytes:
        """Give the state as JSON bytes."""
        return _encode(self)

    @staticmethod
    def from_bytes(data: bytes) -> Ledger:
        """Give the state that `to_bytes` wrote."""
        return _decode(data)

    def violations(self, event: Event, data: Any, surface: Surface, read: ReadEvent) -> list[RuleViolation]:
        """Give what the event breaks, in the order of the rules; an empty list when it may be appended."""
        op = event.surface_op
        if op is None and event.type == "assistant/chunk" and data is not None and attempts.goes_on(self, data):
            return []
        found = [] if op is None else self._of_surface(event, op, data, surface, read)
        if op is None or op == "append":
            for rule, check in (_CHECKS if data is not None else _BLIND_CHECKS).get(event.type, ()):
                expected = check(self, data, read)
                if expected is not None:
                    _find(found, event, rule, expected)
        return found

    def _of_surface(
        self, event: Event, op: SurfaceOp, data: Any, surface: Surface, read: ReadEvent
    ) -> list[RuleViolation]:
        """Give what an event that stands on the surface breaks of the rules that say where."""
        found: list[RuleViolation] = []
        if event.source_event_seqs is not None:
            _find(found, event, "surface.sources", surfaces.check_sources(event.source_event_seqs, event))
        if op != "append":
            for rule, expected in self._replace(event, op, data, surface, read):
                _find(found, event, rule, expected)
            return found
        if event.type == "system/message":
            _find(found, event, "surface.append", surfaces.check_append(surface))
        if self.calls.pending and event.type != "tool/result":
            _find(found, event, "calls.answered-first", calls.check_unanswered(self, data, read))
        return found

    def _replace(self, event: Event, op: Replace, data: Any, surface: Surface, read: ReadEvent) -> Iterator[Finding]:
        ends = surfaces.check_replace(event, op, surface)
        yield "surface.replace", ends
        span = surface.span(op)
        if span is None or span[0] > span[1]:
            return
        shadowed = surface.slice(span[0], span[1] + 1)
        yield "surface.pairs", surfaces.check_pairs(event, op, surface, self.calls, read)
        if isinstance(data, Message):
            yield "compaction.replacement", compaction.check_replacement(self, data, shadowed)
        elif isinstance(data, View):
            yield "surface.place", surfaces.check_place(event, data, shadowed, read)
        if isinstance(data, p.ToolResultEvent):
            yield "surface.rewrite", surfaces.check_rewrite(event, data, shadowed, read)
            yield "compaction.prune", compaction.check_pruned_result(self)

    def apply(self, event: Event, data: Any, generation: int) -> None:
        """Take an event in; `generation` is the surface's after it. Total: any event of any log may come."""
        self.generation = generation
        if event.surface_op is None or event.surface_op == "append":
            change = (_CHANGES if data is not None else _BLIND_CHANGES).get(event.type)
        else:
            change = None if data is None else _REPLACED.get(event.type)
        if change is not None:
            change(self, data, event.seq)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Ledger).decode


def _find(found: list[RuleViolation], event: Event, rule: str, expected: str | None) -> None:
    if expected is not None:
        found.append(RuleViolation(event.seq, event.type, rule, expected))


Check: TypeAlias = "Callable[[Ledger, Any, ReadEvent], str | None]"
Change: TypeAlias = Callable[[Ledger, Any, int], None]


_NAMED_STEP: tuple[str, Check] = ("turns.in-step", turns.check_named_step)
_ANY_STEP: tuple[str, Check] = ("turns.any-step", turns.check_any_step)
_ANY_TURN: tuple[str, Check] = ("turns.any-turn", turns.check_any_turn)

_CHECKS: dict[str, tuple[tuple[str, Check], ...]] = {
    "turn/start": (
        ("turns.turn-start", turns.check_turn_start),
        ("compaction.crossed", compaction.check_turn_start),
    ),
    "turn/end": (
        ("turns.turn-end", turns.check_turn_end),
        ("compaction.crossed", compaction.check_turn_end),
    ),
    "step/start": (("turns.step-start", turns.check_step_start),),
    "step/end": (_NAMED_STEP, ("calls.answered-first", calls.check_unanswered)),
    "system/message": (_NAMED_STEP,),
    "developer/message": (_NAMED_STEP,),
    "request/header": (_ANY_STEP,),
    "request/context": (_ANY_STEP,),
    "request/sent": (_NAMED_STEP, ("attempts.sent", attempts.check_sent)),
    "assistant/chunk": (_NAMED_STEP, ("attempts.chunk", attempts.check_chunk)),
    "assistant/message": (_NAMED_STEP, ("attempts.message", attempts.check_message)),
    "assistant/attempt": (_NAMED_STEP, ("attempts.attempt", attempts.check_attempt)),
    "llm/retry": (_NAMED_STEP, ("attempts.retry", attempts.check_retry)),
    "tool/call": (_NAMED_STEP, ("calls.call", calls.check_call)),
    "tool/settled": (_NAMED_STEP, ("calls.settled", calls.check_settled)),
    "tool/result": (_NAMED_STEP, ("calls.result", calls.check_result)),
    "todo/write": (_ANY_TURN,),
    "workspace/snapshot": (_ANY_TURN,),
    "approval/asked": (("approvals.asked", approvals.check_asked),),
    "approval/decided": (("approvals.decided", approvals.check_decided),),
    "compaction/start": (("compaction.start", compaction.check_start),),
    "compaction/summary": (("compaction.summary", compaction.check_summary),),
    "compaction/prune": (("compaction.prune", compaction.check_prune),),
    "compaction/end": (("compaction.end", compaction.check_end),),
}

# Where types stand that name no turn or step: judged even when their data has no view.
_BLIND_CHECKS = {
    name: checks for name, checks in _CHECKS.items() if any(check in (_ANY_STEP, _ANY_TURN) for check in checks)
}


def _apply_turn_end(ledger: Ledger, data: p.TurnEnd, seq: int) -> None:
    turns.apply_turn_end(ledger, data, seq)
    if ledger.calls.asked or ledger.calls.taken:
        ledger.calls.clear()
    if data.reason.kind in compaction.LEFT_BEHIND:
        compaction.apply_release(ledger, data, seq)


def _apply_step_start(ledger: Ledger, data: p.StepStart, seq: int) -> None:
    turns.apply_step_start(ledger, data, seq)
    ledger.attempts.clear()
    if ledger.calls.asked or ledger.calls.taken:
        ledger.calls.clear()
    if ledger.approvals.asked_calls:
        approvals.apply_step_start(ledger, data, seq)
    ledger.step_started = seq


def _apply_message(ledger: Ledger, data: p.AssistantMessage, seq: int) -> None:
    attempts.apply_message(ledger, data, seq)
    calls.apply_message(ledger, data, seq)


def _apply_header(ledger: Ledger, data: object, seq: int) -> None:
    headers = ledger.headers
    headers.header, headers.generation, headers.seeded = seq, ledger.generation, False


def _apply_context(ledger: Ledger, data: object, seq: int) -> None:
    ledger.headers.context = seq


def _apply_end_seed(ledger: Ledger, data: object, seq: int) -> None:
    ledger.headers.seeded = True
    compaction.apply_release(ledger, data, seq)


_CHANGES: dict[str, Change] = {
    "turn/start": turns.apply_turn_start,
    "turn/end": _apply_turn_end,
    "step/start": _apply_step_start,
    "step/end": turns.apply_step_end,
    "request/header": _apply_header,
    "request/context": _apply_context,
    "request/sent": attempts.apply_sent,
    "assistant/chunk": attempts.apply_chunk,
    "assistant/message": _apply_message,
    "assistant/attempt": attempts.apply_attempt,
    "llm/retry": attempts.apply_retry,
    "tool/call": calls.apply_call,
    "tool/settled": calls.apply_settled,
    "tool/result": calls.apply_result,
    "approval/asked": approvals.apply_asked,
    "approval/decided": approvals.apply_decided,
    "compaction/start": compaction.apply_start,
    "compaction/summary": compaction.apply_summary,
    "compaction/end": compaction.apply_release,
    "session/end-seed": _apply_end_seed,
}

# What these change does not hang on their data, so it holds for data without a view too.
_BLIND_CHANGES = {name: _CHANGES[name] for name in ("request/header", "request/context", "session/end-seed")}

_REPLACED: dict[str, Change] = {"user/message": compaction.apply_replacement}
