"""A long session in a window of 32k: what a step costs at its beginning and after two thousand of them."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from tests.compaction.test_long_session import NAME, STEPS_OF_A_TURN, WINDOW, read, work
from tests.compaction.worker import Worker, workshop

from benchmarks.figure import Figure
from everlog.session.event import Event
from everlog.session.records import Delta
from everlog.session.request import Request

NEAR = 100
"""So many steps around 200, and before 2,000, are compared."""


@dataclass
class Timed(Worker):
    """A worker that tells how much of the processor's time was its own."""

    own: float = 0.0

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Answer."""
        began = time.process_time()
        deltas = [delta async for delta in super().stream(request, body)]
        self.own += time.process_time() - began
        for delta in deltas:
            yield delta


@dataclass
class Steps:
    """The seconds of the processor that each step took, without the worker's, and the tokens that it began with."""

    worker: Timed
    costs: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    since: float = 0.0

    def __call__(self, event: Event) -> None:
        """Observe a session."""
        if event.type == "step/start":
            self.since = time.process_time() - self.worker.own
        elif event.type == "step/end":
            self.costs.append(time.process_time() - self.worker.own - self.since)
            self.tokens.append(self.worker.sizes[-1])


def figures() -> Iterator[Figure]:
    """Give the ratio, and what a step costs."""
    steps = asyncio.run(_run(2_000))
    early, late = slice(200 - NEAR // 2, 200 + NEAR // 2), slice(2_000 - NEAR, 2_000)
    first, last = statistics.mean(steps.costs[early]), statistics.mean(steps.costs[late])
    tokens = [round(statistics.mean(steps.tokens[part])) for part in (early, late)]
    note = f"the one near 200; {tokens[0]:,} and {tokens[1]:,} tokens on the surface"
    yield Figure("cost of a step near 2,000 steps", last / first, "x", "<= 1.2", note)
    middle = statistics.median(steps.costs[late]) / statistics.median(steps.costs[early])
    yield Figure("the same, in the middle of the steps", middle, "x", "<= 1.2", "without what single steps cost more")
    yield Figure("a step near 2,000, model and tools' work left out", last * 1e3, "ms", "", "of the processor")


async def _run(count: int) -> Steps:
    worker = Timed(work, WINDOW, keep_requests=False)
    steps = Steps(worker)
    with tempfile.TemporaryDirectory() as folder:
        async with workshop(worker, [read], store=f"sqlite://{folder}/sessions.db") as harness:
            agent = await harness.agents.create(NAME)
            agent.session.observe(steps)
            for turn in range(count // STEPS_OF_A_TURN):
                agent.followup(f"task {turn}: look at the files of part {turn}")
                await agent.when_idle()
    return steps
