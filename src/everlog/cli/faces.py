"""The ways in which `run` and `resume` tell a turn: as one JSON object, as JSON lines, or for people.

The face for people is `everlog.cli.terminal.Terminal`, which is imported when it is asked for.
"""

from __future__ import annotations

import sys
from typing import Protocol

from everlog.agent.seam import Agent
from everlog.cli.outcome import Outcome
from everlog.cli.output import write_json
from everlog.cli.plain import one_line
from everlog.session import Event

FORMATS = ("text", "json", "stream-json")


class Face(Protocol):
    """Is told what happens, in order."""

    def begin(self, agent: Agent) -> None:
        """Hear of the agent before its turn begins."""

    def tell(self, event: Event) -> None:
        """Hear of an event right after its commit."""

    def notice(self, text: str) -> None:
        """Hear something that the log does not hold: a store in trouble, a cancel under way."""

    def end(self, outcome: Outcome) -> None:
        """Hear how the turn came out."""


def face_for(output: str) -> Face:
    """Give the face of an output format."""
    match output:
        case "json":
            return Summary()
        case "stream-json":
            return Lines()
        case _:
            from everlog.cli.terminal import Terminal

            return Terminal.on_stdout()


class Summary:
    """For machines: one JSON object when all is done; notices on stderr."""

    def begin(self, agent: Agent) -> None:
        """Say nothing yet."""

    def tell(self, event: Event) -> None:
        """Say nothing yet."""

    def notice(self, text: str) -> None:
        """Write the notice to stderr."""
        to_stderr(text)

    def end(self, outcome: Outcome) -> None:
        """Write the object."""
        write_json(outcome.to_json_value())


class Lines:
    """For machines: a JSON object per line: the session, each event by its own bytes, the result."""

    def begin(self, agent: Agent) -> None:
        """Write the session's header and the model."""
        self._write({"kind": "session", "id": agent.id, "model": agent.model, "header": agent.session.header})

    def tell(self, event: Event) -> None:
        """Write the event."""
        self._write({"kind": "event", "event": event})

    def notice(self, text: str) -> None:
        """Write the notice to stderr."""
        to_stderr(text)

    def end(self, outcome: Outcome) -> None:
        """Write the result."""
        self._write({"kind": "result", **outcome.to_json_value()})

    def _write(self, value: dict[str, object]) -> None:
        write_json(value)
        sys.stdout.flush()


def to_stderr(text: str) -> None:
    """Write a notice where it does not mix with the output."""
    print(f"everlog: {one_line(text)}", file=sys.stderr)
