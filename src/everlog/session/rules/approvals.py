"""A decision names an id that was asked, once.

An ask whose call is answered, or whose turn is closed, is not pending.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from everlog.session.payloads import ApprovalAsked, ApprovalDecided

if TYPE_CHECKING:
    from everlog.session.rules.ledger import Ledger, ReadEvent


GRANTS = ("allowed-once", "allowed-always")


@dataclass(slots=True)
class Approvals:
    """The asks of the log: undecided ones with their call, decided ones by id, and the calls granted in this step."""

    undecided: dict[str, str | None] = field(default_factory=dict)
    decided: set[str] = field(default_factory=set)
    asked_calls: set[str] = field(default_factory=set)
    granted_calls: set[str] = field(default_factory=set)
    call_of: dict[str, str] = field(default_factory=dict)


def check_asked(ledger: Ledger, data: ApprovalAsked, read: ReadEvent) -> str | None:
    """Say why an ask may not stand here."""
    state = ledger.approvals
    seen = data.id in state.undecided or data.id in state.decided
    return f"an id of its own; {data.id} was asked before" if seen else None


def check_decided(ledger: Ledger, data: ApprovalDecided, read: ReadEvent) -> str | None:
    """Say why a decision may not stand here."""
    state = ledger.approvals
    if data.id in state.decided:
        return f"one decision; {data.id} is decided already"
    return None if data.id in state.undecided else f"an id that was asked; {data.id} was not"


def apply_step_start(ledger: Ledger, data: object, seq: int) -> None:
    """The calls of a new step have not been asked about."""
    state = ledger.approvals
    state.asked_calls, state.granted_calls, state.call_of = set(), set(), {}


def apply_asked(ledger: Ledger, data: ApprovalAsked, seq: int) -> None:
    """A person is asked."""
    state = ledger.approvals
    state.undecided[data.id] = data.call_id
    if data.call_id is not None:
        state.asked_calls.add(data.call_id)
        state.call_of[data.id] = data.call_id


def apply_decided(ledger: Ledger, data: ApprovalDecided, seq: int) -> None:
    """A person has answered."""
    state = ledger.approvals
    state.undecided.pop(data.id, None)
    state.decided.add(data.id)
    if data.outcome in GRANTS and data.id in state.call_of:
        state.granted_calls.add(state.call_of[data.id])
