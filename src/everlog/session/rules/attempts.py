"""Attempts are 1, 2, … per step, each begun by one request/sent (which imported logs do not have).

A chunk names the running attempt. An attempt ends in the step's one assistant/message or in one
assistant/attempt, and before the next one stands an llm/retry that names the one that failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from everlog.session.payloads import AssistantAttempt, AssistantChunk, ChunkPart, LlmRetry, RequestSent

if TYPE_CHECKING:
    from everlog.session.rules.ledger import Ledger, ReadEvent


@dataclass(slots=True)
class Attempts:
    """The attempts of the open step.

    Attributes:
        last: the attempt begun last, 0 before the first.
        running: whether it has not ended.
        sent: whether the log says that it was sent.
        retried: whether an llm/retry named it.
        answered: whether the step has its assistant/message.
    """

    last: int = 0
    running: bool = False
    sent: bool = False
    retried: bool = False
    answered: bool = False

    def clear(self) -> None:
        """Forget the attempts of the step before; in place, which is cheaper than a new state."""
        self.last = 0
        self.running = self.sent = self.retried = self.answered = False

    def _next(self) -> str | None:
        """Say why no attempt may begin now."""
        if self.answered:
            return "no attempt after the step's assistant/message"
        if self.last and not self.retried:
            return f"an llm/retry that names attempt {self.last} first"
        return None

    def _current(self, attempt: int) -> str | None:
        """Say why an event of this attempt may not stand here."""
        if self.running:
            return None if attempt == self.last else f"the running attempt {self.last}, not {attempt}"
        refused = self._next()
        if refused is None and attempt != self.last + 1:
            return f"attempt {self.last + 1}, not {attempt}"
        return refused


def check_sent(ledger: Ledger, data: RequestSent, read: ReadEvent) -> str | None:
    """Say what a request/sent should be, when it is not that."""
    state = ledger.attempts
    if state.running:
        return f"attempt {state.last} is still running"
    return state._current(data.attempt)


def check_chunk(ledger: Ledger, data: AssistantChunk | ChunkPart, read: ReadEvent) -> str | None:
    """Say what a chunk should be, when it is not that."""
    state = ledger.attempts
    return state._current(data.attempt)


def goes_on(ledger: Ledger, data: AssistantChunk | ChunkPart) -> bool:
    """Tell whether a chunk surely breaks no rule, and changes nothing: the attempt that it names is running.

    A stream has many chunks, so each but the first costs this one look.
    """
    turns, state = ledger.turns, ledger.attempts
    return (
        state.running
        and data.attempt == state.last
        and turns.step_open
        and data.step == turns.step
        and data.turn == turns.last
    )


def check_message(ledger: Ledger, data: object, read: ReadEvent) -> str | None:
    """Say why the step's answer may not stand here."""
    state = ledger.attempts
    if state.answered:
        return "one assistant/message in a step"
    return None if state.running else state._next()


def check_attempt(ledger: Ledger, data: AssistantAttempt, read: ReadEvent) -> str | None:
    """Say what an assistant/attempt should be, when it is not that."""
    state = ledger.attempts
    return state._current(data.attempt)


def check_retry(ledger: Ledger, data: LlmRetry, read: ReadEvent) -> str | None:
    """Say what an llm/retry should be, when it is not that."""
    state = ledger.attempts
    if state.running or not state.last:
        return state._current(data.attempt)
    if state.answered:
        return "no retry after the step's assistant/message"
    if state.retried:
        return state._current(data.attempt)
    return None if data.attempt == state.last else f"the failed attempt {state.last}, not {data.attempt}"


def apply_sent(ledger: Ledger, data: RequestSent, seq: int) -> None:
    """An attempt begins."""
    state = ledger.attempts
    state.last, state.running, state.sent, state.retried = data.attempt, True, True, False


def apply_chunk(ledger: Ledger, data: AssistantChunk | ChunkPart, seq: int) -> None:
    """An attempt runs; in an imported log this may be its first sign."""
    state = ledger.attempts
    if not state.running:
        state.last, state.running, state.sent, state.retried = data.attempt, True, False, False


def apply_message(ledger: Ledger, data: object, seq: int) -> None:
    """The step has its answer."""
    state = ledger.attempts
    if not state.running:
        state.last += 1
    state.running, state.answered = False, True


def apply_attempt(ledger: Ledger, data: AssistantAttempt, seq: int) -> None:
    """The attempt gave no message."""
    state = ledger.attempts
    state.last, state.running, state.retried = data.attempt, False, False


def apply_retry(ledger: Ledger, data: LlmRetry, seq: int) -> None:
    """The attempt failed, and another may begin."""
    state = ledger.attempts
    state.last, state.running, state.retried = data.attempt, False, True
