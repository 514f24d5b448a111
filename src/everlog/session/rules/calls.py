"""Calls and their answers.

A tool/call belongs to a call block of the step's assistant/message, once. A tool/result answers a taken-up
call of the step, once, in call order; a `TOOL_NOT_STARTED` result may answer one that was not taken up. A
tool/settled follows its call, once, and the result that follows says the same. While a call of the open
step is unanswered the only surface appends are tool/results of that step, and the step cannot end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from everlog.session.jsonvalue import decode_or_text, equal
from everlog.session.messages import Message, ToolCall, ToolResult
from everlog.session.payloads import AssistantMessage, ToolCallEvent, ToolResultEvent, ToolSettled
from everlog.session.views import View

if TYPE_CHECKING:
    from everlog.session.rules.ledger import Ledger, ReadEvent


NOT_STARTED = "TOOL_NOT_STARTED"


@dataclass(slots=True)
class Calls:
    """The calls of the open step.

    Attributes:
        asked_by: the seq of the assistant/message that asked for them, or None.
        pending: the ids of the unanswered ones, in call order.
        asked: the ids of all its call blocks.
        taken: the seq of each tool/call, by id.
        settled: the seq of each tool/settled, by id.
    """

    asked_by: int | None = None
    pending: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    settled: dict[str, int] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget the calls of the step before; in place, which is cheaper than a new state."""
        self.asked_by = None
        self.pending.clear()
        self.asked.clear()
        self.taken.clear()
        self.settled.clear()


def call_id_of(message: Message) -> str:
    """Give the id of the call that a result message answers; empty when it has no result block."""
    for block in message.content:
        if type(block) is ToolResult:
            return block.tool_call_id
    return ""


def check_call(ledger: Ledger, data: ToolCallEvent, read: ReadEvent) -> str | None:
    """Say what a tool/call should be, when it is not that."""
    state = ledger.calls
    if data.call_id in state.taken:
        return f"call {data.call_id} is taken up already"
    if data.call_id not in state.pending:
        return f"a call block of this step's assistant/message; none has the id {data.call_id}"
    return None


def check_settled(ledger: Ledger, data: ToolSettled, read: ReadEvent) -> str | None:
    """Say what a tool/settled should be, when it is not that."""
    state = ledger.calls
    call_id = call_id_of(data.message)
    if call_id not in state.taken or call_id not in state.pending:
        return f"an unanswered call that was taken up; {call_id} is none"
    return f"call {call_id} is settled already" if call_id in state.settled else None


def check_result(ledger: Ledger, data: ToolResultEvent, read: ReadEvent) -> str | None:
    """Say what a tool/result should be, when it is not that; `read` gives an earlier event."""
    state = ledger.calls
    call_id = call_id_of(data.message)
    if call_id not in state.pending:
        known = call_id in state.taken or call_id in state.asked
        return f"call {call_id} is answered already" if known else f"a call of this step; {call_id} is none"
    if state.pending[0] != call_id:
        return f"an answer to call {state.pending[0]} first, in call order"
    if call_id not in state.taken and (data.error is None or data.error.code != NOT_STARTED):
        return f"a tool/call for {call_id} before its result, or the code {NOT_STARTED}"
    if call_id in state.settled and not _same(data, read(state.settled[call_id]).data):
        return f"the message, error and meta that settled call {call_id}"
    return None


def _same(result: ToolResultEvent, settled: object) -> bool:
    if not isinstance(settled, View):
        return False
    mine, theirs = decode_or_text(result.to_json()), decode_or_text(settled.to_json())
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        return False
    return all(equal(mine.get(key), theirs.get(key)) for key in ("message", "error", "meta"))


def check_unanswered(ledger: Ledger, data: object, read: ReadEvent) -> str | None:
    """Say which call must be answered before the step ends, or before anything else joins the surface."""
    state = ledger.calls
    return f"a tool/result for call {state.pending[0]} first" if state.pending else None


def apply_message(ledger: Ledger, data: AssistantMessage, seq: int) -> None:
    """The answer asks for its calls."""
    state = ledger.calls
    for block in data.message.content:
        if type(block) is ToolCall:
            state.asked_by = seq
            state.asked.append(block.id)
            if block.id not in state.pending:
                state.pending.append(block.id)


def apply_call(ledger: Ledger, data: ToolCallEvent, seq: int) -> None:
    """A call is taken up; in a foreign log it may be the first sign of it."""
    state = ledger.calls
    if data.call_id not in state.asked and data.call_id not in state.taken:
        state.pending.append(data.call_id)
    state.taken.setdefault(data.call_id, seq)


def apply_settled(ledger: Ledger, data: ToolSettled, seq: int) -> None:
    """A result is kept until it is its turn."""
    state = ledger.calls
    state.settled.setdefault(call_id_of(data.message), seq)


def apply_result(ledger: Ledger, data: ToolResultEvent, seq: int) -> None:
    """A call is answered."""
    state = ledger.calls
    call_id = call_id_of(data.message)
    if call_id in state.pending:
        state.pending.remove(call_id)
