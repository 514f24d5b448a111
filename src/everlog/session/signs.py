"""Signs of attempts: which try of which step an event belongs to.

A log of our own begins each attempt with a request/sent. An imported one does not: there an attempt begins
with the first event that could only come from it, a chunk, an answer, a failure or a retry. The state is
plain JSON, for folds to keep inside their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from everlog.session.event import Event, Replace
from everlog.session.payloads import (
    AssistantAttempt,
    AssistantChunk,
    AssistantMessage,
    LlmRetry,
    RequestSent,
    StepStart,
)

SignPayload: TypeAlias = RequestSent | AssistantChunk | AssistantMessage | AssistantAttempt | LlmRetry
RunningState: TypeAlias = "dict[str, Any]"

_TYPES = frozenset(
    {"step/start", "request/sent", "assistant/chunk", "assistant/message", "assistant/attempt", "llm/retry"}
)
_BEGINS = RequestSent | AssistantChunk


class Sign(NamedTuple):
    """An event of an attempt.

    Attributes:
        turn, step, attempt: whose event it is.
        first: whether the attempt begins with it.
        data: its payload.
    """

    turn: int
    step: int
    attempt: int
    first: bool
    data: SignPayload


def nothing_running() -> RunningState:
    """Give the state before any attempt."""
    return {"turn": 0, "step": 0, "attempt": 0, "running": False}


def sign_of(state: RunningState, event: Event) -> Sign | None:
    """Take an event in, and give the attempt that it is a sign of, or None when it is no sign of any."""
    if event.type not in _TYPES or type(event.surface_op) is Replace:
        return None
    data = event.data
    if isinstance(data, StepStart):
        state.update(turn=data.turn, step=data.step, attempt=0, running=False)
    if not isinstance(data, SignPayload):
        return None
    if (data.turn, data.step) != (state["turn"], state["step"]):
        state.update(turn=data.turn, step=data.step, attempt=0, running=False)
    attempt = _answered(state) if isinstance(data, AssistantMessage) else data.attempt
    first = isinstance(data, RequestSent) or attempt != state["attempt"]
    state.update(attempt=attempt, running=isinstance(data, _BEGINS))
    return Sign(data.turn, data.step, attempt, first, data)


def _answered(state: RunningState) -> int:
    """Give the attempt that an answer, which names none, ends: the running one, or one that it is the only sign of."""
    attempt: int = state["attempt"]
    return attempt if state["running"] else attempt + 1
