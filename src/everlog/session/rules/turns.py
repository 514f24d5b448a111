"""Turns are numbered 1, 2, … and never nested; steps 1, 2, … within their turn; a turn/end closes no open step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from everlog.session.payloads import StepEnd, StepStart, TurnEnd, TurnStart

if TYPE_CHECKING:
    from everlog.session.rules.ledger import Ledger, ReadEvent


@dataclass(slots=True)
class Turns:
    """Where the log stands: the last turn and step begun, and whether they are open."""

    last: int = 0
    is_open: bool = False
    step: int = 0
    step_open: bool = False

    @property
    def open_turn(self) -> int | None:
        """Give the number of the open turn, or None."""
        return self.last if self.is_open else None

    @property
    def open_step(self) -> int | None:
        """Give the number of the open step, or None."""
        return self.step if self.step_open else None


def check_turn_start(ledger: Ledger, data: TurnStart, read: ReadEvent) -> str | None:
    """Say what a turn/start should be, when it is not that."""
    state = ledger.turns
    if state.is_open:
        return f"turn {state.last} is still open"
    return None if data.turn == state.last + 1 else f"turn {state.last + 1}, not {data.turn}"


def check_turn_end(ledger: Ledger, data: TurnEnd, read: ReadEvent) -> str | None:
    """Say what a turn/end should be, when it is not that."""
    state = ledger.turns
    if not state.is_open:
        return "no turn is open"
    if data.turn != state.last:
        return f"turn {state.last}, not {data.turn}"
    return f"step {state.step} is still open" if state.step_open else None


def check_step_start(ledger: Ledger, data: StepStart, read: ReadEvent) -> str | None:
    """Say what a step/start should be, when it is not that."""
    state = ledger.turns
    if not state.is_open or data.turn != state.last:
        return f"an open turn {data.turn}"
    if state.step_open:
        return f"step {state.step} is still open"
    return None if data.step == state.step + 1 else f"step {state.step + 1}, not {data.step}"


def check_named_step(ledger: Ledger, data: Any, read: ReadEvent) -> str | None:
    """Say which step is open, when it is not the one that the event names."""
    state = ledger.turns
    if not state.step_open:
        return f"an open step; turn {data.turn}, step {data.step} is not"
    if data.turn != state.last or data.step != state.step:
        return f"turn {state.last}, step {state.step}, which is open, not turn {data.turn}, step {data.step}"
    return None


def check_any_step(ledger: Ledger, data: object, read: ReadEvent) -> str | None:
    """Say that the event stands in no step, when it does not."""
    return None if ledger.turns.step_open else "a place inside a step"


def check_any_turn(ledger: Ledger, data: object, read: ReadEvent) -> str | None:
    """Say that the event stands in no turn, when it does not."""
    return None if ledger.turns.is_open else "a place inside a turn"


def apply_turn_start(ledger: Ledger, data: TurnStart, seq: int) -> None:
    """A turn is open."""
    state = ledger.turns
    state.last, state.is_open, state.step, state.step_open = data.turn, True, 0, False


def apply_turn_end(ledger: Ledger, data: TurnEnd, seq: int) -> None:
    """No turn is open."""
    state = ledger.turns
    state.last, state.is_open, state.step_open = data.turn, False, False


def apply_step_start(ledger: Ledger, data: StepStart, seq: int) -> None:
    """A step is open."""
    state = ledger.turns
    state.step, state.step_open = data.step, True


def apply_step_end(ledger: Ledger, data: StepEnd, seq: int) -> None:
    """No step is open."""
    state = ledger.turns
    state.step_open = False
