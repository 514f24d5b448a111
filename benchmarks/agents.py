"""A thousand agents in one process, three turns each, answered by a script: time and memory."""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.figure import Figure
from everlog import Harness
from everlog.kernel import Config
from everlog.llm.script import scripted

COUNT, TURNS = 1_000, 3
_ANSWERS = ["One.", "Two.", "Three."]


def figures() -> Iterator[Figure]:
    """Give the figures."""
    before = _memory()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        events, sound = asyncio.run(crowd(f"sqlite://{folder}/s.db", COUNT))
        taken = time.perf_counter() - began
    yield Figure(f"{COUNT:,} agents, {TURNS} turns each", taken, "s", "", f"{events:,} events, {sound:,} logs verified")
    yield Figure("memory that they took", _memory() - before, "MB", "", "peak of the process")


def _memory() -> float:
    """Give the peak memory of this process in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


async def crowd(store: str, count: int) -> tuple[int, int]:
    """Have that many agents live at once and take their turns. Give the events, and how many logs are sound."""
    async with Harness(Config(), store, [scripted({"it": _ANSWERS})]) as harness:
        agents = [await harness.agents.create("script/it") for _ in range(count)]
        for agent in agents:
            for turn in range(TURNS):
                agent.followup(f"turn {turn + 1}")
        await asyncio.gather(*(agent.when_idle() for agent in agents))
        assert all(agent.session.ledger.turns.last == TURNS for agent in agents)
        events = sum(agent.session.next_seq for agent in agents)
        for agent in agents:
            await agent.dispose()
        sound = 0
        for agent in agents:
            sound += (await harness.store.verify(agent.id)).sound
        return events, sound
