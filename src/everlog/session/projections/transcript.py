"""What a person saw: every message as it came, and the attempts that failed or were broken off.

Compaction and pruning shorten what the model sees and never remove a line; they mark it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.messagelist import message_of
from everlog.session.messages import Block, Message
from everlog.session.payloads import AssistantAttempt, AssistantChunk, AssistantMessage, Failure
from everlog.session.projections.surface import SurfaceProjection, advance
from everlog.session.records import partial_blocks
from everlog.session.signs import nothing_running, sign_of

TranscriptState: TypeAlias = "dict[str, Any]"


class Line:
    """One line of the transcript.

    Attributes:
        seq: the seq of its event.
        event: the event.
        message: its message, or None: an attempt that gave none, an answer without content, or foreign data.
        shadowed_by: the seq of the event that took its place in the model's view, or None while the model sees it.
    """

    __slots__ = ("_begun", "_log", "event", "message", "seq", "shadowed_by")

    def __init__(self, log: Log, event: Event, begun: int | None, shadowed_by: int | None) -> None:
        self._log = log
        self._begun = begun
        self.seq = event.seq
        self.event = event
        self.message: Message | None = message_of(event)
        self.shadowed_by = shadowed_by

    @property
    def interrupted(self) -> bool:
        """Tell whether it is an answer that was broken off."""
        data = self.event.data
        return isinstance(data, AssistantMessage) and data.interrupted is True

    @property
    def failure(self) -> Failure | None:
        """Give why an attempt failed; None when it was cancelled, and for a message."""
        data = self.event.data
        return data.failure if isinstance(data, AssistantAttempt) else None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Give what was said: the message's blocks, or the text and reasoning that an attempt streamed."""
        if self.message is not None:
            return self.message.content
        data = self.event.data
        if not isinstance(data, AssistantAttempt) or self._begun is None:
            return ()
        chunks = [event for event in self._log.events.between(self._begun, self.seq) if _chunk_of(event, data)]
        return partial_blocks(chunks or [self.event])

    def __repr__(self) -> str:
        return f"<Line {self.seq} {self.event.type}>"


def _chunk_of(event: Event, attempt: AssistantAttempt) -> bool:
    if event.type != "assistant/chunk":
        return False
    data = event.data
    mine = (attempt.turn, attempt.step, attempt.attempt)
    return isinstance(data, AssistantChunk) and (data.turn, data.step, data.attempt) == mine


class TranscriptProjection:
    """The lines of the transcript. A row is `[seq, seq of the attempt's first sign or null]`."""

    name = "transcript"
    version = 1

    def __init__(self) -> None:
        self._surface = SurfaceProjection()

    def init(self) -> TranscriptState:
        """Give the empty transcript."""
        running = nothing_running()
        return {"surface": self._surface.init(), "running": running, "begun": None, "lines": [], "shadowed": {}}

    def apply(self, state: TranscriptState, event: Event) -> None:
        """Add a line, or mark the lines that an event takes out of the model's view."""
        sign = sign_of(state["running"], event)
        if sign is not None and sign.first:
            state["begun"] = event.seq
        if event.surface_op == "append":
            state["lines"].append([event.seq, None])
        elif event.type == "assistant/attempt":
            state["lines"].append([event.seq, state["begun"] if sign is not None else None])
        for seq in advance(state["surface"], event):
            state["shadowed"][str(seq)] = event.seq

    def view(self, state: TranscriptState, log: Log) -> list[Line]:
        """Give the lines in order."""
        begun: dict[int, int | None] = dict(state["lines"])
        shadowed = state["shadowed"]
        return [Line(log, event, begun[event.seq], shadowed.get(str(event.seq))) for event in log.events.pick(begun)]


PROJECTION = TranscriptProjection()
