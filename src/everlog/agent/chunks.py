"""Logging a stream while it comes: deltas gather for a short window and go to the log as one event."""

from __future__ import annotations

import asyncio

from everlog.session.live import Session
from everlog.session.records import Delta, RecordPacker

WINDOW = 0.1
"""Seconds after which a chunk event is written; what a killed process loses of a stream is little more."""
SIZE = 16_384
"""Characters after which it is written at once."""


class ChunkWriter:
    """Logs the deltas of one attempt. Must be closed, or discarded when nothing more may be logged."""

    def __init__(self, session: Session, attempt: int) -> None:
        turns = session.ledger.turns
        self._session = session
        self._place = (turns.last, turns.step, attempt)
        self._packer = RecordPacker()
        self._timer: asyncio.TimerHandle | None = None
        self._failure: Exception | None = None
        self.seqs: list[int] = []
        """The seqs of the chunk events written so far."""

    def add(self, delta: Delta) -> None:
        """Take a delta in. Raises what an append in the meantime raised."""
        if self._failure is not None:
            raise self._failure
        self._packer.add(delta)
        if delta.kind == "block-end" or self._packer.size >= SIZE:
            self.close()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW, self._window_closed)

    def close(self) -> None:
        """Write what was gathered."""
        self._stop_timer()
        if self._packer:
            turn, step, attempt = self._place
            data = {"turn": turn, "step": step, "attempt": attempt, "records": self._packer.take()}
            self.seqs.append(self._session.append_json("assistant/chunk", data).seq)

    def _window_closed(self) -> None:
        self._timer = None
        try:
            self.close()
        except Exception as error:  # nobody awaits a timer: the next delta, or the close, tells
            self._failure = error

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def discard(self) -> None:
        """Write nothing more."""
        self._stop_timer()
        self._packer.take()
