"""What each step did: the model, the tools offered, each call and its outcome, how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, cast

import msgspec

from everlog.session.event import Event, Replace
from everlog.session.jsonvalue import decode_or_text
from everlog.session.log import Log
from everlog.session.payloads import (
    ApprovalAsked,
    ApprovalDecided,
    AssistantAttempt,
    AssistantMessage,
    RequestHeaderEvent,
    StepEnd,
    StepStart,
    ToolCallEvent,
    ToolResultEvent,
)
from everlog.session.rules.approvals import GRANTS
from everlog.session.signs import Sign, nothing_running, sign_of

StepsState: TypeAlias = "dict[str, Any]"
Outcome: TypeAlias = Literal["answered", "failed", "refused", "unknown", "not started", "running"]
Ending: TypeAlias = Literal["open", "called", "answered", "interrupted", "failed", "cancelled", "empty"]

_OUTCOMES: dict[str, Outcome] = {
    "TOOL_OUTCOME_UNKNOWN": "unknown",
    "TOOL_NOT_STARTED": "not started",
    # What a probe found out: it took effect, though its result is lost; or it did not.
    "TOOL_OUTCOME_CONFIRMED": "answered",
    "TOOL_OUTCOME_ABSENT": "not started",
    "PERMISSION_DENIED": "refused",
}


class Call(msgspec.Struct, frozen=True):
    """One call of a step.

    Attributes:
        id: the call's id.
        name: the tool, or None when a foreign log does not say.
        outcome: `answered`, `failed`, `refused` (by a person or a policy), `unknown`, `not started`, or `running`
            while its step is open.
        code: the error code of its result, or None.
        call_seq: the seq of its tool/call, or None when it was not taken up.
        result_seq: the seq of its tool/result, or None while there is none.
    """

    id: str
    name: str | None
    outcome: Outcome
    code: str | None
    call_seq: int | None
    result_seq: int | None


class Step(msgspec.Struct, frozen=True):
    """One step.

    Attributes:
        turn, step: its numbers.
        start_seq: the seq of its step/start, or None in a log that lacks it.
        end_seq: the seq of its step/end, or None while it is open.
        provider, model: of the header that its last attempt was made with; None before the first.
        tools: the names of the tools that were offered.
        header_seq: the seq of that header.
        attempts: how many there were.
        calls: its calls in order.
        ended: `called` (the answer asked for calls), `answered` (it did not), `interrupted` (broken off), `failed` or
            `cancelled` (no answer), `empty` (nothing was asked), `open` (not ended).
        failure: the code of its last failed attempt, or None.
    """

    turn: int
    step: int
    start_seq: int | None
    end_seq: int | None
    provider: str | None
    model: str | None
    tools: tuple[str, ...]
    header_seq: int | None
    attempts: int
    calls: tuple[Call, ...]
    ended: Ending
    failure: str | None


class StepsProjection:
    """One row for each step, with its calls by id."""

    name = "steps"
    version = 1

    def init(self) -> StepsState:
        """Give the state without steps."""
        return {"running": nothing_running(), "header": None, "steps": [], "at": {}, "asks": {}}

    def apply(self, state: StepsState, event: Event) -> None:
        """Take an event into the row of its step."""
        sign = sign_of(state["running"], event)
        if sign is not None:
            _take_sign(state, sign)
        elif type(event.surface_op) is Replace:
            return
        elif event.type == "request/header":
            state["header"] = event.seq
        elif event.type in _TYPES:
            _take(state, event)

    def view(self, state: StepsState, log: Log) -> list[Step]:
        """Give the steps in order."""
        headers = _headers(log, {row["header"] for row in state["steps"]} - {None})
        return [_step(row, headers.get(row["header"], _NO_HEADER)) for row in state["steps"]]


_TYPES = frozenset({"step/start", "step/end", "tool/call", "tool/result", "approval/asked", "approval/decided"})


def _new_row(state: StepsState, turn: int, step: int, start: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"turn": turn, "step": step, "start": start, "end": None, "header": None, "attempts": 0}
    row |= {"answer": None, "failure": None, "calls": {}}
    state["at"][f"{turn}.{step}"] = len(state["steps"])
    state["steps"].append(row)
    return row


def _row(state: StepsState, turn: int, step: int) -> dict[str, Any]:
    """Give the row of a step; a foreign log may name one that it did not start."""
    at = state["at"].get(f"{turn}.{step}")
    return _new_row(state, turn, step, None) if at is None else state["steps"][at]


def _take_sign(state: StepsState, sign: Sign) -> None:
    row = _row(state, sign.turn, sign.step)
    if sign.first:
        row["attempts"] += 1
        row["header"] = state["header"]
    match sign.data:
        case AssistantMessage(message=message, interrupted=interrupted):
            row["answer"] = "interrupted" if interrupted else "called" if message.calls else "answered"
            for block in message.calls:
                _call(row, block.id)["name"] = block.name
        case AssistantAttempt(failure=failure):
            row["answer"] = "cancelled" if failure is None else "failed"
            row["failure"] = None if failure is None else failure.code


def _take(state: StepsState, event: Event) -> None:
    match event.data:
        case StepStart(turn=turn, step=step):
            _new_row(state, turn, step, event.seq)
        case StepEnd(turn=turn, step=step):
            _row(state, turn, step)["end"] = event.seq
        case ToolCallEvent(turn=turn, step=step, call_id=id, name=name):
            _call(_row(state, turn, step), id).update(name=name, call=event.seq)
        case ToolResultEvent() as data if (result := data.message.result) is not None:
            call = _call(_row(state, data.turn, data.step), result.tool_call_id)
            code = None if data.error is None else data.error.code
            call.update(result=event.seq, error=result.is_error, code=code)
        case ApprovalAsked(id=id, call_id=str(call_id)) if state["steps"]:
            state["asks"][id] = [len(state["steps"]) - 1, call_id]
        case ApprovalDecided(id=id, outcome=outcome) if id in state["asks"]:
            at, call_id = state["asks"].pop(id)
            _call(state["steps"][at], call_id)["refused"] = outcome not in GRANTS


def _call(row: dict[str, Any], id: str) -> dict[str, Any]:
    fresh = {"name": None, "call": None, "result": None, "error": False, "code": None, "refused": False}
    return cast("dict[str, Any]", row["calls"].setdefault(id, fresh))


_Header: TypeAlias = "tuple[str | None, str | None, tuple[str, ...]]"
_NO_HEADER: _Header = (None, None, ())


def _headers(log: Log, seqs: Iterable[int]) -> dict[int, _Header]:
    """Give provider, model and the names of the tools of each header."""
    found = {}
    for event in log.events.pick(seqs):
        if isinstance(event.data, RequestHeaderEvent):
            header = event.data.header
            config = decode_or_text(bytes(header.config_json))
            known = config if isinstance(config, dict) else {}
            tools = decode_or_text(bytes(header.tools_json)) if header.tools_json else None
            names = [tool.get("name") for tool in _objects(tools)]
            found[event.seq] = (
                _text(known.get("provider")),
                _text(known.get("model")),
                tuple(name for name in names if isinstance(name, str)),
            )
    return found


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _step(row: dict[str, Any], header: _Header) -> Step:
    is_open = row["end"] is None
    provider, model, tools = header
    return Step(
        turn=row["turn"],
        step=row["step"],
        start_seq=row["start"],
        end_seq=row["end"],
        provider=provider,
        model=model,
        tools=tools,
        header_seq=row["header"],
        attempts=row["attempts"],
        calls=tuple(_view_of(id, call, is_open) for id, call in row["calls"].items()),
        ended="open" if is_open else row["answer"] or "empty",
        failure=row["failure"],
    )


def _view_of(id: str, call: dict[str, Any], is_open: bool) -> Call:
    return Call(id, call["name"], _outcome(call, is_open), call["code"], call["call"], call["result"])


def _outcome(call: dict[str, Any], is_open: bool) -> Outcome:
    if call["result"] is None:
        if call["call"] is None or call["refused"]:
            return "not started"
        return "running" if is_open else "unknown"
    if not call["error"]:
        return "answered"
    known = _OUTCOMES.get(call["code"])
    if known is not None:
        return known
    return "refused" if call["refused"] else "failed"


PROJECTION = StepsProjection()
