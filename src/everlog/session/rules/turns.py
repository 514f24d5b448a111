"""Turns are numbered 1, 2, … and never nested; steps 1, 2, … within their turn; a turn/end closes no open step."""

from __future__ import annotations

import msgspec

from everlog.session.payloads import StepEnd, StepStart, TurnEnd, TurnStart


class Turns(msgspec.Struct):
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


def check_turn_start(state: Turns, data: TurnStart) -> str | None:
    """Say what a turn/start should be, when it is not that."""
    if state.is_open:
        return f"turn {state.last} is still open"
    return None if data.turn == state.last + 1 else f"turn {state.last + 1}, not {data.turn}"


def check_turn_end(state: Turns, data: TurnEnd) -> str | None:
    """Say what a turn/end should be, when it is not that."""
    if not state.is_open:
        return "no turn is open"
    if data.turn != state.last:
        return f"turn {state.last}, not {data.turn}"
    return f"step {state.step} is still open" if state.step_open else None


def check_step_start(state: Turns, data: StepStart) -> str | None:
    """Say what a step/start should be, when it is not that."""
    if not state.is_open or data.turn != state.last:
        return f"an open turn {data.turn}"
    if state.step_open:
        return f"step {state.step} is still open"
    return None if data.step == state.step + 1 else f"step {state.step + 1}, not {data.step}"


def check_step_end(state: Turns, data: StepEnd) -> str | None:
    """Say what a step/end should be, when it is not that."""
    return inside_step(state, data.turn, data.step)


def inside_step(state: Turns, turn: int, step: int) -> str | None:
    """Say which step is open, when it is not the one named."""
    if not state.step_open:
        return f"an open step; turn {turn}, step {step} is not"
    if (turn, step) != (state.last, state.step):
        return f"turn {state.last}, step {state.step}, which is open, not turn {turn}, step {step}"
    return None


def apply_turn_start(state: Turns, data: TurnStart) -> None:
    """A turn is open."""
    state.last, state.is_open, state.step, state.step_open = data.turn, True, 0, False


def apply_turn_end(state: Turns, data: TurnEnd) -> None:
    """No turn is open."""
    state.last, state.is_open, state.step_open = data.turn, False, False


def apply_step_start(state: Turns, data: StepStart) -> None:
    """A step is open."""
    state.step, state.step_open = data.step, True


def apply_step_end(state: Turns, data: StepEnd) -> None:
    """No step is open."""
    state.step_open = False
