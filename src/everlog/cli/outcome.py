"""How a turn came out, read from the log, and the exit code that goes with it."""

from __future__ import annotations

from dataclasses import dataclass

from everlog.cli.exits import FAILED, INTERRUPTED, OK, STOPPED
from everlog.cli.hints import hint
from everlog.cli.telling import told_reason
from everlog.session import Log
from everlog.session.payloads import AssistantMessage, Reason, StepStart, TurnEnd, TurnStart, Usage

_CODES = {"completed": OK, "error": FAILED, "aborted": INTERRUPTED}


@dataclass(frozen=True)
class Outcome:
    """The last turn of a session.

    Attributes:
        session: the session's id.
        turn: its number; 0 when the session has none.
        reason: why it ended; None while it is open.
        steps: how many steps it had.
        text: the text of its last answer.
        usage: the tokens of its answers, added up.
    """

    session: str
    turn: int
    reason: Reason | None
    steps: int
    text: str
    usage: Usage

    @property
    def exit_code(self) -> int:
        """Give the exit code of a command that ran this turn."""
        return FAILED if self.reason is None else _CODES.get(self.reason.kind, STOPPED)

    @property
    def told(self) -> str:
        """Give why it ended, in words."""
        return "not finished" if self.reason is None else told_reason(self.reason)

    @property
    def complaint(self) -> str | None:
        """Give one line that says what went wrong and how to go on; None when nothing did, or a person cancelled."""
        if self.exit_code in (OK, INTERRUPTED):
            return None
        line = hint(f"everlog resume {self.session[:8]} …")
        return f"turn {self.turn} {self.told}; go on with: {line}"

    def to_json_value(self) -> dict[str, object]:
        """Give the outcome as JSON."""
        return {
            "session": self.session,
            "turn": self.turn,
            "reason": self.reason,
            "steps": self.steps,
            "text": self.text,
            "usage": self.usage,
        }


def last_turn(log: Log) -> Outcome:
    """Read how the last turn of a log came out; only the events of that turn are read."""
    reason, steps, text, turn = None, 0, "", 0
    spent: list[Usage] = []
    for event in reversed(log.events):
        match event.data:
            case TurnEnd() as data if reason is None and not spent and not steps:
                reason = data.reason
            case AssistantMessage() as data:
                text = text or data.message.text
                spent += [data.usage] if data.usage is not None else []
            case StepStart():
                steps += 1
            case TurnStart() as data:
                turn = data.turn
                break
            case _:
                pass
    return Outcome(log.id, turn, reason, steps, text, _sum(spent))


def _sum(spent: list[Usage]) -> Usage:
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in spent),
        output_tokens=sum(usage.output_tokens for usage in spent),
        cache_read_tokens=sum(usage.cache_read_tokens for usage in spent),
        cache_write_tokens=sum(usage.cache_write_tokens for usage in spent),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in spent),
    )
