"""What stands around every adapter: it sees to it that a stream keeps the promises of the seam."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import cast

import msgspec

from everlog.llm.adapter import Adapter, BlobReader
from everlog.llm.failure import PROTOCOL, TIMEOUT, TRANSPORT, ModelFailure
from everlog.llm.limits import RateLimits
from everlog.session.jsonvalue import scrub, scrub_json
from everlog.session.records import PACKED, Delta
from everlog.session.request import Request

_log = logging.getLogger("everlog.llm")


class Guarded:
    """An adapter with limits and a watchdog around it.

    It waits for the provider's rate limits; gives a request up when nothing comes for `idle_timeout` seconds; makes
    text safe to log; and turns a stream that ends without a finish, and any error that is none of the seam's, into
    a `ModelFailure`.
    """

    def __init__(self, adapter: Adapter, limits: RateLimits | None = None, idle_timeout: float = 300.0) -> None:
        self._adapter = adapter
        self._limits = limits or RateLimits()
        self._idle_timeout = idle_timeout

    @property
    def name(self) -> str:
        """Give the adapter's name."""
        return self._adapter.name

    @property
    def version(self) -> str:
        """Give the adapter's version."""
        return self._adapter.version

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        """Give the adapter's body."""
        return self._adapter.encode(request, blobs)

    async def aclose(self) -> None:
        """Close the adapter's connections."""
        await self._adapter.aclose()

    async def stream(self, request: Request, body: bytes) -> AsyncGenerator[Delta, None]:
        """Give the adapter's answer. Raises ModelFailure and nothing else."""
        async with self._limits.turn():
            try:
                async with aclosing(self._watched(request, body)) as watched:
                    async for delta in watched:
                        yield delta
            except ModelFailure as failure:
                self._limits.heed(failure)
                raise
            except Exception as error:
                _log.exception("adapter %s failed in a way that it should not", self.name)
                message = f"the adapter {self.name} failed: {type(error).__name__}: {error}"
                raise ModelFailure(message, PROTOCOL) from error

    async def _watched(self, request: Request, body: bytes) -> AsyncGenerator[Delta, None]:
        scrubber, finished = Scrubber(), False
        provider = request.provider  # once: it is read out of the whole configuration
        inner = self._adapter.stream(request, body)
        try:
            while (delta := await self._next(inner, provider)) is not None:
                finished = finished or delta.kind == "finish"
                for safe in scrubber.take(delta):
                    yield safe
        finally:
            close = getattr(inner, "aclose", None)
            if close is not None:
                await close()
        if not finished:
            raise ModelFailure("the stream ended before the answer was complete", TRANSPORT)

    async def _next(self, inner: AsyncIterator[Delta], provider: str) -> Delta | None:
        try:
            async with asyncio.timeout(self._idle_timeout):
                return await anext(inner, None)
        except TimeoutError as error:
            message = f"nothing came from {provider} for {self._idle_timeout:g} s, and the request was given up"
            raise ModelFailure(message, TIMEOUT) from error


class Scrubber:
    """Makes the text of a stream safe to log, without losing a character that two deltas share the halves of."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], str] = {}

    def take(self, delta: Delta) -> Iterator[Delta]:
        """Give the delta made safe. A half at its end waits for the next one of its block, or for the finish."""
        if delta.kind not in PACKED:
            if delta.kind == "finish":
                yield from self._rest(delta.time)
            yield delta if delta.record is None else _with_record(delta)
            return
        block = (delta.kind, delta.index)
        text = self._held.pop(block, "") + delta.text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held[block], text = text[-1], text[:-1]
        yield msgspec.structs.replace(
            delta,
            text=scrub(text),
            id=None if delta.id is None else scrub(delta.id),
            name=None if delta.name is None else scrub(delta.name),
        )

    def _rest(self, time: int) -> Iterator[Delta]:
        held, self._held = self._held, {}
        yield from (Delta(kind, time, index, scrub(half)) for (kind, index), half in held.items())


def _with_record(delta: Delta) -> Delta:
    return msgspec.structs.replace(delta, record=cast("dict[str, object]", scrub_json(delta.record)))
