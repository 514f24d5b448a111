"""What a person is being asked, and what was allowed for good.

An ask is pending until it is decided, its call is answered, or the turn that it was asked in is closed.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import msgspec

from everlog.session.event import Event
from everlog.session.jsonvalue import JSON, decode_or_text
from everlog.session.log import Log
from everlog.session.payloads import (
    ApprovalAsked,
    ApprovalDecided,
    ToolResultEvent,
    TurnEnd,
    TurnStart,
)

ApprovalsState: TypeAlias = "dict[str, Any]"


class Ask(msgspec.Struct, frozen=True):
    """A pending ask: the seq of its event, and its payload."""

    seq: int
    asked: ApprovalAsked

    @property
    def id(self) -> str:
        """Give the id that a decision names."""
        return self.asked.id


class Approvals(msgspec.Struct, frozen=True):
    """The asks and the standing permissions at one seq.

    Attributes:
        pending: the asks that wait, in order.
        standing: the rules that `allowed-always` decisions added, in order; a fork inherits none.
    """

    pending: tuple[Ask, ...]
    standing: tuple[JSON, ...]


class ApprovalsProjection:
    """Pending asks by id, as `[seq, call id, turn]`, and the seqs of the decisions that stand."""

    name = "approvals"
    version = 1

    def init(self) -> ApprovalsState:
        """Give the state before any ask."""
        return {"turn": None, "pending": {}, "standing": []}

    def apply(self, state: ApprovalsState, event: Event) -> None:
        """Take in an ask, or what settles one."""
        if event.type not in _TYPES:
            return
        match event.data:
            case TurnStart(turn=turn):
                state["turn"] = turn
            case TurnEnd():
                state["turn"] = None
                _keep(state, lambda row: row[2] is None)
            case ApprovalAsked(id=id, call_id=call_id):
                state["pending"][id] = [event.seq, call_id, state["turn"]]
            case ApprovalDecided(id=id, outcome=outcome):
                state["pending"].pop(id, None)
                if outcome == "allowed-always":
                    state["standing"].append(event.seq)
            case ToolResultEvent(message=message) if message.result is not None and event.surface_op == "append":
                answered = message.result.tool_call_id
                _keep(state, lambda row: row[1] != answered)

    def view(self, state: ApprovalsState, log: Log) -> Approvals:
        """Give the asks and the rules."""
        asked = log.events.pick(row[0] for row in state["pending"].values())
        inherited = log.header.inherited_events or 0
        decided = log.events.pick(seq for seq in state["standing"] if seq >= inherited)
        return Approvals(
            tuple(Ask(event.seq, cast("ApprovalAsked", event.data)) for event in asked),
            tuple(_rule(cast("ApprovalDecided", event.data)) for event in decided),
        )


_TYPES = frozenset({"turn/start", "turn/end", "approval/asked", "approval/decided", "tool/result"})


def _keep(state: ApprovalsState, wanted: Any) -> None:
    if state["pending"]:
        state["pending"] = {id: row for id, row in state["pending"].items() if wanted(row)}


def _rule(decided: ApprovalDecided) -> JSON:
    return decode_or_text(bytes(decided.rule_json)) if decided.rule_json else None


PROJECTION = ApprovalsProjection()
