"""Around every adapter: limits that all agents of a process share, and a stream that keeps its promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.llm.asking import request_to

from everlog.llm import deltas
from everlog.llm.guard import Guarded, Scrubber
from everlog.llm.limits import RateLimits
from everlog.llm.script import ScriptAdapter, script_route
from everlog.llm.seam import ModelFailure
from everlog.session.records import Delta
from everlog.session.request import Request

ROUTE = script_route([])


class Scripted(ScriptAdapter):
    """An adapter whose stream is whatever a test says."""

    def __init__(self, stream: Callable[[], AsyncIterator[Delta]]) -> None:
        super().__init__([])
        self._given = stream

    def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        return self._given()


async def drained(guarded: Guarded) -> list[Delta]:
    return [delta async for delta in guarded.stream(request_to(ROUTE, "hi"), b"")]


async def test_an_error_that_is_none_of_the_seams_becomes_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def stream() -> AsyncIterator[Delta]:
        yield deltas.text(0, "a")
        raise KeyError("oops")

    with pytest.raises(ModelFailure, match="the adapter script failed: KeyError") as caught:
        await drained(Guarded(Scripted(stream)))
    assert caught.value.code == "PROTOCOL"


async def test_a_stream_without_a_finish_is_one_that_broke() -> None:
    async def stream() -> AsyncIterator[Delta]:
        yield deltas.text(0, "a")

    with pytest.raises(ModelFailure, match="ended before the answer was complete"):
        await drained(Guarded(Scripted(stream)))


async def test_a_requests_configuration_is_not_read_for_every_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stream() -> AsyncIterator[Delta]:
        for _ in range(100):
            yield deltas.text(0, "a")
        yield deltas.finish(deltas.STOP)

    reads = 0

    def config(request: Request) -> dict[str, Any]:
        nonlocal reads
        reads += 1
        return {"provider": "lab", "model": "m"}

    monkeypatch.setattr(Request, "config", property(config))
    assert len(await drained(Guarded(Scripted(stream)))) == 101
    assert reads < 5


async def test_closing_the_stream_closes_the_adapters() -> None:
    closed = asyncio.Event()

    async def stream() -> AsyncIterator[Delta]:
        try:
            yield deltas.text(0, "a")
            yield deltas.text(0, "b")
        finally:
            closed.set()

    guarded = Guarded(Scripted(stream)).stream(request_to(ROUTE, "hi"), b"")
    await anext(guarded)
    await guarded.aclose()
    assert closed.is_set()


def test_the_halves_of_a_character_meet_across_deltas_of_their_block_only() -> None:
    scrubber = Scrubber()
    given = [
        deltas.text(0, "a\ud83d"),
        deltas.text(1, "\ude00"),
        deltas.text(0, "\ude00"),
        deltas.reasoning(2, "\ud83d"),
    ]
    came = [safe for delta in [*given, deltas.finish("stop", "\ud800")] for safe in scrubber.take(delta)]
    assert [(d.kind, d.index, d.text) for d in came] == [
        ("text", 0, "a"),
        ("text", 1, "\ufffd"),
        ("text", 0, "\U0001f600"),
        ("reasoning", 2, ""),
        ("reasoning", 2, "\ufffd"),
        ("finish", 0, ""),
    ]
    assert came[-1].record == {"reason": "stop", "providerReason": "\ufffd"}


async def test_no_more_requests_run_at_once_than_the_provider_allows() -> None:
    running, most, full, gate = 0, 0, asyncio.Event(), asyncio.Event()

    async def stream() -> AsyncIterator[Delta]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            full.set()
        await gate.wait()
        running -= 1
        yield deltas.finish("stop")

    limits = RateLimits(max_concurrent=2)
    agents = [asyncio.ensure_future(drained(Guarded(Scripted(stream), limits))) for _ in range(5)]
    await full.wait()
    gate.set()
    await asyncio.gather(*agents)
    assert most == 2


async def test_when_one_is_asked_to_wait_all_wait() -> None:
    limits = RateLimits()
    limits.heed(ModelFailure("slow down", "RATE_LIMIT", retry_after_ms=60_000))
    waiting = asyncio.ensure_future(drained(Guarded(script_route(["hi"]).adapter, limits)))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_requests_begin_evenly_spread_over_the_minute() -> None:
    limits, clock = RateLimits(requests_per_minute=1200), asyncio.get_running_loop().time
    start = clock()
    for number in range(4):
        async with limits.turn():
            assert clock() - start >= number * 0.05
