"""Rate limits of one provider, shared by all agents of the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from everlog.llm.failure import RATE_LIMIT, ModelFailure


class RateLimits:
    """Lets requests begin when they may.

    At most `max_concurrent` run at once, at most `requests_per_minute` begin in a minute, evenly spread, and after
    the provider asked one request to wait, none begins before that time. 0 means any number.
    """

    def __init__(self, max_concurrent: int = 0, requests_per_minute: float = 0.0) -> None:
        self._slots = asyncio.Semaphore(max_concurrent) if max_concurrent > 0 else None
        self._gap = 60 / requests_per_minute if requests_per_minute > 0 else 0.0
        self._next = 0.0
        self._held_until = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a request may begin, and hold its place while it runs. Waiting can be cancelled."""
        if self._slots is None:
            await self._begin()
            yield
            return
        async with self._slots:
            await self._begin()
            yield

    async def _begin(self) -> None:
        clock = asyncio.get_running_loop().time
        at = max(clock(), self._next)
        self._next = at + self._gap
        while (wait := max(at, self._held_until) - clock()) > 0:  # noqa: ASYNC110 (no event ends a pause)
            await asyncio.sleep(wait)

    def heed(self, failure: ModelFailure) -> None:
        """Take note of a failure: when the provider asks one request to wait, all wait."""
        if failure.code == RATE_LIMIT and failure.retry_after_ms:
            until = asyncio.get_running_loop().time() + failure.retry_after_ms / 1000
            self._held_until = max(self._held_until, until)
