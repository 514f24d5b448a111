"""Closers: the events that end an open tail, after a crash or in a fork.

They are a pure function of the log (and of what probes found out): the same log gives the same closers,
with the time of its last event, and a log with its closers has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from everlog.session.event import Event, SurfaceOp
from everlog.session.jsonvalue import decode_or_text
from everlog.session.log import Log
from everlog.session.messages import Message, ModelSource, model_source, tool_message
from everlog.session.payloads import (
    AssistantChunk,
    AssistantMessage,
    Reason,
    StepEnd,
    ToolError,
    ToolResultEvent,
    ToolSettled,
    TurnEnd,
)
from everlog.session.records import partial_blocks
from everlog.session.views import View

Ending: TypeAlias = Literal["interrupted", "forked"]
Verdict: TypeAlias = Literal["confirmed", "absent", "unknown"]

_ERRORS = {
    "TOOL_OUTCOME_UNKNOWN": "ToolOutcomeUnknownError",
    "TOOL_NOT_STARTED": "ToolNotStartedError",
    "TOOL_OUTCOME_CONFIRMED": "ToolOutcomeConfirmedError",
    "TOOL_OUTCOME_ABSENT": "ToolOutcomeAbsentError",
}
_TEXTS = {
    "TOOL_OUTCOME_UNKNOWN": (
        "The process ended while this call ran, and its result was not recorded: whether it took effect is"
        " not known. If the tool only reads, or gives the same effect when run again, you may call it again."
        " Otherwise look first at what it would have changed, or ask, before you repeat it."
    ),
    "TOOL_NOT_STARTED": (
        "The process ended before this call was begun: it had no effect. Call again if it is still needed."
    ),
    "TOOL_OUTCOME_CONFIRMED": (
        "The process ended before the result of this call was recorded. A look at the outside world shows"
        " that it took effect; do not repeat it."
    ),
    "TOOL_OUTCOME_ABSENT": (
        "The process ended before the result of this call was recorded. A look at the outside world shows"
        " that it did not take effect; call again if it is still needed."
    ),
}
_FORKED_TEXTS = {
    "TOOL_OUTCOME_UNKNOWN": (
        "This session is a copy that was taken before the result of this call was recorded; in the original it may"
        " have taken effect on the same files. Look before you repeat it, unless the tool only reads or gives"
        " the same effect when run again."
    ),
    "TOOL_NOT_STARTED": (
        "This session is a copy that was taken before the result of this call, and before the call was begun."
        " Call again if it is still needed."
    ),
}
_CODES: dict[str, str] = {"confirmed": "TOOL_OUTCOME_CONFIRMED", "absent": "TOOL_OUTCOME_ABSENT"}


def closers(log: Log, ending: Ending = "interrupted", verdicts: Mapping[str, Verdict] | None = None) -> list[Event]:
    """Give the events that close the open turn at the tail of a log, ready to be appended; none when it is closed.

    `verdicts` holds, by call id, what a probe found out about a call whose outcome is unknown.
    """
    if not log.ledger.turns.is_open:
        return []
    drafts = list(_drafts(log, ending, verdicts or {}))
    time = log.events[-1].time
    return [
        Event(seq, name, time, payload.to_json(), op, sources, kind=log.vocabulary.get(name))
        for seq, (name, payload, op, sources) in enumerate(drafts, log.next_seq)
    ]


Draft: TypeAlias = "tuple[str, View, SurfaceOp | None, tuple[int, ...] | None]"


def _drafts(log: Log, ending: Ending, verdicts: Mapping[str, Verdict]) -> Iterator[Draft]:
    turns = log.ledger.turns
    if turns.step_open:
        yield from _partial_answer(log)
        for call_id in log.ledger.calls.pending:
            yield _answer(log, call_id, ending, verdicts.get(call_id, "unknown"))
        yield "step/end", StepEnd(turn=turns.last, step=turns.step), None, None
    yield "turn/end", TurnEnd(turn=turns.last, reason=Reason(kind=ending)), None, None


def running_chunks(log: Log) -> list[Event]:
    """Give the chunk events of the attempt that is running at the tail, in order."""
    attempts, started = log.ledger.attempts, log.ledger.step_started
    if not attempts.running or started is None:
        return []
    return [
        event
        for event in log.events.between(started, log.next_seq)
        if event.type == "assistant/chunk"
        and isinstance(data := event.data, AssistantChunk)
        and data.attempt == attempts.last
    ]


def interrupted_message(log: Log, chunks: list[Event]) -> AssistantMessage | None:
    """Give what was said of an answer that did not finish; None when there is not a character of it."""
    blocks = partial_blocks(chunks)
    if not blocks:
        return None
    turns, attempt = log.ledger.turns, log.ledger.attempts.last
    message = Message(
        id=f"interrupted:{turns.last}.{turns.step}.{attempt}:{chunks[0].seq}",
        role="assistant",
        content=blocks,
        source=_source(log),
    )
    return AssistantMessage(turn=turns.last, step=turns.step, message=message, interrupted=True)


def _partial_answer(log: Log) -> Iterator[Draft]:
    chunks = running_chunks(log)
    payload = interrupted_message(log, chunks)
    if payload is not None:
        yield "assistant/message", payload, "append", tuple(event.seq for event in chunks)


def _source(log: Log) -> ModelSource:
    header = log.request_header()
    config = decode_or_text(bytes(header.config_json)) if header is not None else None
    found = config if isinstance(config, dict) else {}
    return model_source(str(found.get("provider", "unknown")), str(found.get("model", "unknown")))


def _answer(log: Log, call_id: str, ending: Ending, verdict: Verdict) -> Draft:
    taken = log.ledger.calls.taken.get(call_id)
    sources = None if taken is None else (taken,)
    payload = settled_result(log, call_id)
    if payload is None:
        payload = _synthetic_result(log, call_id, _code(log, call_id, verdict), ending)
    return "tool/result", payload, "append", sources


def answer_for(log: Log, call_id: str) -> Draft:
    """Give the result of an unanswered call of the open step as far as the log tells it, ready to be appended."""
    return _answer(log, call_id, "interrupted", "unknown")


def settled_result(log: Log, call_id: str) -> ToolResultEvent | None:
    """Give the result of a call of the open step that has settled; None when it has not."""
    seq = log.ledger.calls.settled.get(call_id)
    data = None if seq is None else log.events[seq].data
    if not isinstance(data, ToolSettled):
        return None
    turns = log.ledger.turns
    payload = ToolResultEvent(
        turn=turns.last, step=turns.step, message=data.message, error=data.error, meta_json=data.meta_json
    )
    try:
        payload.to_json()
    except ValueError:  # foreign data that no value can hold
        return None
    return payload


def _code(log: Log, call_id: str, verdict: Verdict) -> str:
    if not is_started(log, call_id):
        return "TOOL_NOT_STARTED"
    return _CODES.get(verdict, "TOOL_OUTCOME_UNKNOWN")


def is_started(log: Log, call_id: str) -> bool:
    """Tell whether a pending call may have run: it was taken up, and no ask about it is without a grant."""
    approvals = log.ledger.approvals
    waits = call_id in approvals.asked_calls and call_id not in approvals.granted_calls
    return call_id in log.ledger.calls.taken and not waits


def _synthetic_result(log: Log, call_id: str, code: str, ending: Ending) -> ToolResultEvent:
    texts = _FORKED_TEXTS if ending == "forked" and code in _FORKED_TEXTS else _TEXTS
    turns = log.ledger.turns
    message = tool_message(call_id, texts[code], is_error=True, id=f"{ending}:{turns.last}.{turns.step}:{call_id}")
    return ToolResultEvent(
        turn=turns.last, step=turns.step, message=message, error=ToolError(name=_ERRORS[code], code=code)
    )
