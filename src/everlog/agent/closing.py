"""Ending what is open: a step that did not come to its end, and the turn that it stands in.

The live counterpart of the closers that an open writes after a crash: the same order, other words.
"""

from __future__ import annotations

import re

from everlog.errors import EverlogError
from everlog.llm.seam import ModelFailure
from everlog.session.jsonvalue import scrub
from everlog.session.live import Session
from everlog.session.messages import tool_message
from everlog.session.payloads import CompactionEnd, Failure, Reason, StepEnd, ToolError, ToolResultEvent, TurnEnd
from everlog.session.repair import settled_result
from everlog.session.views import json_raw

_NOT_STARTED = "The turn ended before this call was begun: it had no effect. Call again if it is still needed."
_UNKNOWN = (
    "The turn ended while this call ran, and its result was not recorded: whether it took effect is not known."
    " Look at what it would have changed before you repeat it, unless the tool only reads."
)


def close_step(session: Session) -> None:
    """Answer what is unanswered in the open step, and end it. Without an open step, nothing is done."""
    turns = session.ledger.turns
    if not turns.step_open:
        return
    for call_id in tuple(session.ledger.calls.pending):  # each answer takes one out
        taken = session.ledger.calls.taken.get(call_id)
        result = settled_result(session, call_id) or _lost(session, call_id, taken is not None)
        session.append(result, "append", sources=None if taken is None else [taken])
    session.append(StepEnd(turn=turns.last, step=turns.step))


def _lost(session: Session, call_id: str, started: bool) -> ToolResultEvent:
    turns = session.ledger.turns
    code = "TOOL_OUTCOME_UNKNOWN" if started else "TOOL_NOT_STARTED"
    name = "ToolOutcomeUnknownError" if started else "ToolNotStartedError"
    return ToolResultEvent(
        turn=turns.last,
        step=turns.step,
        message=tool_message(call_id, _UNKNOWN if started else _NOT_STARTED, is_error=True),
        error=ToolError(name=name, code=code),
    )


def close_turn(session: Session, reason: Reason) -> None:
    """End the open turn, after whatever in it is still open."""
    close_step(session)
    left = session.ledger.compactions.open
    if left is not None:
        error = json_raw({"message": "the turn ended before the compaction did"})
        session.append(
            CompactionEnd(compaction_id=left.id, turn=left.turn, error_json=error, source_command_id=left.command)
        )
    session.append(TurnEnd(turn=session.ledger.turns.last, reason=reason))


def failure_of(error: BaseException) -> Failure:
    """Give the failure that the log keeps of an error: a provider's with its code, another by its class."""
    if isinstance(error, ModelFailure):
        return error.to_payload()
    if isinstance(error, EverlogError):
        code = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(error).__name__).upper()
        return Failure(message=scrub(str(error)), code=code)
    return Failure(message=scrub(f"{type(error).__name__}: {error}"), code="INTERNAL")
