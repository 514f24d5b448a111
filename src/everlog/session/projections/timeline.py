"""When everything began and ended: turns, steps, attempts and tools. Times are milliseconds since the epoch."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import msgspec

from everlog.session.event import Event, Replace
from everlog.session.log import Log
from everlog.session.payloads import (
    ApprovalAsked,
    ApprovalDecided,
    AssistantChunk,
    RequestSent,
    StepEnd,
    StepStart,
    ToolCallEvent,
    ToolSettled,
    TurnEnd,
    TurnStart,
)
from everlog.session.records import PACKED, deltas_of
from everlog.session.signs import Sign, nothing_running, sign_of

TimelineState: TypeAlias = "dict[str, Any]"


class Span(msgspec.Struct, frozen=True):
    """A stretch of time.

    Attributes:
        start: when it began, or None when a foreign log does not say.
        end: when it ended, or None while it is open. It may lie before the start: clocks are set back.
    """

    start: int | None
    end: int | None


class AttemptSpan(Span, frozen=True):
    """One attempt: from its sending, or its first sign, to its answer or its failure.

    `first` is when the first piece of it came, or None when none did or none was recorded.
    """

    attempt: int
    first: int | None = None


class ToolSpan(Span, frozen=True):
    """One call: from its taking up to the moment when its result was there, which may precede its tool/result.

    `waited` is how many milliseconds of that a person was asked.
    """

    call_id: str
    name: str | None
    waited: int = 0


class StepSpan(Span, frozen=True):
    """One step with what happened in it."""

    step: int
    attempts: tuple[AttemptSpan, ...]
    tools: tuple[ToolSpan, ...]


class TurnSpan(Span, frozen=True):
    """One turn with its steps; `reason` is the kind of its end, or None while it is open."""

    turn: int
    reason: str | None
    steps: tuple[StepSpan, ...]


class TimelineProjection:
    """Turns, their steps, and the attempts and calls of those, as nested rows."""

    name = "timeline"
    version = 2

    def init(self) -> TimelineState:
        """Give the state before the first turn."""
        return {"running": nothing_running(), "turns": [], "turn_at": {}, "steps": [], "step_at": {}, "asked": {}}

    def apply(self, state: TimelineState, event: Event) -> None:
        """Note when something began or ended."""
        sign = sign_of(state["running"], event)
        if sign is not None:
            _take_sign(state, sign, event)
        elif event.type in _TYPES and type(event.surface_op) is not Replace:
            _take(state, event.data, event.time)

    def view(self, state: TimelineState, log: Log) -> list[TurnSpan]:
        """Give the turns in order."""
        steps = [_step_span(row) for row in state["steps"]]
        return [
            TurnSpan(row["start"], row["end"], row["turn"], row["reason"], tuple(steps[at] for at in row["steps"]))
            for row in state["turns"]
        ]


_TYPES = frozenset(
    {
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "tool/call",
        "tool/settled",
        "tool/result",
        "approval/asked",
        "approval/decided",
    }
)


def _take(state: TimelineState, data: object, time: int) -> None:
    match data:
        case TurnStart(turn=turn):
            _new_turn(state, turn, time)
        case TurnEnd(turn=turn, reason=reason):
            _turn(state, turn).update(end=time, reason=reason.kind)
        case StepStart(turn=turn, step=step):
            _new_step(state, turn, step, time)
        case StepEnd(turn=turn, step=step):
            _step(state, turn, step)["end"] = time
        case ToolCallEvent(turn=turn, step=step, call_id=id, name=name):
            _step(state, turn, step)["tools"][id] = {"name": name, "start": time, "end": None, "waited": 0}
        case ApprovalAsked(id=id, call_id=str(call_id)) if state["steps"]:
            state["asked"][id] = [len(state["steps"]) - 1, call_id, time]
        case ApprovalDecided(id=id) if id in state["asked"]:
            at, call_id, since = state["asked"].pop(id)
            tool = state["steps"][at]["tools"].get(call_id)
            if tool is not None:
                tool["waited"] += max(0, time - since)
        case ToolSettled() if data.message.result is not None:
            _end_tool(_step(state, data.turn, data.step), data.message.result.tool_call_id, time)


def _take_sign(state: TimelineState, sign: Sign, event: Event) -> None:
    attempts = _step(state, sign.turn, sign.step)["attempts"]
    if sign.first or not attempts:
        attempts.append({"attempt": sign.attempt, "start": event.time, "end": None, "first": None})
    last = attempts[-1]
    if isinstance(sign.data, AssistantChunk) and last["first"] is None:
        last["first"] = next((delta.time for delta in deltas_of(event) if delta.kind in PACKED), None)
    if not isinstance(sign.data, RequestSent | AssistantChunk) and last["end"] is None:
        last["end"] = event.time


def _end_tool(step: dict[str, Any], id: str, time: int) -> None:
    """End a call with the first of its settling and its result; a result without a call has no start."""
    tool = step["tools"].setdefault(id, {"name": None, "start": None, "end": None, "waited": 0})
    if tool["end"] is None:
        tool["end"] = time


def _new_turn(state: TimelineState, turn: int, start: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"turn": turn, "start": start, "end": None, "reason": None, "steps": []}
    state["turn_at"][str(turn)] = len(state["turns"])
    state["turns"].append(row)
    return row


def _turn(state: TimelineState, turn: int) -> dict[str, Any]:
    """Give the row of a turn; a foreign log may name one that it did not start."""
    at = state["turn_at"].get(str(turn))
    return _new_turn(state, turn, None) if at is None else cast("dict[str, Any]", state["turns"][at])


def _new_step(state: TimelineState, turn: int, step: int, start: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"step": step, "start": start, "end": None, "attempts": [], "tools": {}}
    _turn(state, turn)["steps"].append(len(state["steps"]))
    state["step_at"][f"{turn}.{step}"] = len(state["steps"])
    state["steps"].append(row)
    return row


def _step(state: TimelineState, turn: int, step: int) -> dict[str, Any]:
    at = state["step_at"].get(f"{turn}.{step}")
    return _new_step(state, turn, step, None) if at is None else cast("dict[str, Any]", state["steps"][at])


def _step_span(row: dict[str, Any]) -> StepSpan:
    return StepSpan(
        row["start"],
        row["end"],
        row["step"],
        tuple(AttemptSpan(a["start"], a["end"], a["attempt"], a["first"]) for a in row["attempts"]),
        tuple(ToolSpan(t["start"], t["end"], id, t["name"], t["waited"]) for id, t in row["tools"].items()),
    )


PROJECTION = TimelineProjection()
