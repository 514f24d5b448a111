"""What people ask an agent to do beside its turns: to shorten what the model sees, at the next opportunity."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Awaitable, Callable

from everlog.compaction.seam import CompactionFailed, Relief


class CompactionAsk:
    """A wish for a compaction.

    Attributes:
        focus: what is to be kept above all, or None.
        command: the id that the log knows the wish by.
        outcome: the answer to whoever wished it.
    """

    def __init__(self, focus: str | None) -> None:
        self.focus = focus
        self.command = str(uuid.uuid4())
        self.outcome: asyncio.Future[Relief] = asyncio.get_running_loop().create_future()


class CompactionAsks:
    """Wishes in order; one whose asker waits no longer is forgotten."""

    def __init__(self) -> None:
        self._waiting: deque[CompactionAsk] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, focus: str | None) -> asyncio.Future[Relief]:
        """Add a wish, and give what tells how it came out."""
        ask = CompactionAsk(focus)
        self._waiting.append(ask)
        return ask.outcome

    async def work_off(self, fulfil: Callable[[CompactionAsk], Awaitable[Relief]]) -> None:
        """Fulfil the wishes one after the other; what goes wrong is told to whoever wished. Cancellation passes."""
        while self._waiting:
            ask = self._waiting.popleft()
            if ask.outcome.done():
                continue
            try:
                relief = await fulfil(ask)
            except asyncio.CancelledError:
                _fail(ask, CompactionFailed("the compaction was cancelled"))
                raise
            except Exception as error:
                _fail(ask, error)
            else:
                if not ask.outcome.done():
                    ask.outcome.set_result(relief)

    def drop(self, error: Exception) -> None:
        """Tell all who still wait that nothing will come of it."""
        while self._waiting:
            _fail(self._waiting.popleft(), error)


def _fail(ask: CompactionAsk, error: Exception) -> None:
    if not ask.outcome.done():
        ask.outcome.set_exception(error)
