"""What the models said, token by token, with the pauses that there were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.payloads import AssistantAttempt, AssistantChunk, AssistantMessage
from everlog.session.records import Delta, deltas_of
from everlog.session.signs import Sign, nothing_running, sign_of

StreamState: TypeAlias = "dict[str, Any]"


class Moment(NamedTuple):
    """One delta where it came.

    Attributes:
        seq: the event that holds it.
        turn, step, attempt: whose answer it is a piece of.
        pause: milliseconds since the delta before it in its attempt; 0 for the first, and where the clock fell back.
        delta: the delta with its own time.
    """

    seq: int
    turn: int
    step: int
    attempt: int
    pause: int
    delta: Delta


class Stream:
    """The moments of a log in order. Each iteration reads them anew, as it goes on."""

    __slots__ = ("_log", "_rows")

    def __init__(self, log: Log, rows: list[list[int]]) -> None:
        self._log = log
        self._rows = rows

    def __iter__(self) -> Iterator[Moment]:
        attempt, last = None, 0
        events = self._log.events.pick(row[0] for row in self._rows)
        for event, (seq, *own) in zip(events, self._rows, strict=True):
            for delta in deltas_of(event):
                pause = max(delta.time - last, 0) if own == attempt else 0
                attempt, last = own, delta.time
                yield Moment(seq, own[0], own[1], own[2], pause, delta)

    def of(self, turn: int, step: int, attempt: int | None = None) -> Stream:
        """Give the stream of one step, or of one attempt of it."""
        wanted = [turn, step] if attempt is None else [turn, step, attempt]
        return Stream(self._log, [row for row in self._rows if row[1 : 1 + len(wanted)] == wanted])

    def __repr__(self) -> str:
        return f"<Stream of {len(self._rows)} events>"


class StreamProjection:
    """Which events hold deltas, as rows `[seq, turn, step, attempt]`.

    Foreign answers and attempts may embed their stream; it counts where the log holds no chunks of it.
    """

    name = "stream"
    version = 1

    def init(self) -> StreamState:
        """Give the state without a delta."""
        return {"running": nothing_running(), "chunked": False, "rows": []}

    def apply(self, state: StreamState, event: Event) -> None:
        """Remember an event that holds deltas."""
        sign = sign_of(state["running"], event)
        if sign is None:
            return
        if sign.first:
            state["chunked"] = False
        if isinstance(sign.data, AssistantChunk):
            state["chunked"] = True
        elif state["chunked"] or not _embeds(sign):
            return
        state["rows"].append([event.seq, sign.turn, sign.step, sign.attempt])

    def view(self, state: StreamState, log: Log) -> Stream:
        """Give the replay; nothing is read before it is iterated."""
        return Stream(log, list(state["rows"]))


def _embeds(sign: Sign) -> bool:
    return isinstance(sign.data, AssistantMessage | AssistantAttempt) and bool(sign.data.stream_json)


PROJECTION = StreamProjection()
