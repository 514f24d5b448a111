"""A thousand agents in one process, three turns each, answered by a script; then the same, killed and resumed."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figure import Figure
from everlog import Harness
from everlog.agent.seam import OwnedAgent
from everlog.kernel import Config
from everlog.llm.script import scripted
from everlog.session.messages import Message, UserSource
from everlog.session.payloads import TurnEnd
from everlog.store.seam import Store

COUNT, TURNS = 1_000, 3
_SCRIPTS = {"it": ["One.", "Two.", "Three."]}
_MODEL = "script/it"
_ALONE = "import sys; from benchmarks.agents import work_alone; work_alone(sys.argv[1])"
_WORKER = (
    "import asyncio, sys; from benchmarks.agents import work_until_killed as work; asyncio.run(work(*sys.argv[1:]))"
)


def figures() -> Iterator[Figure]:
    """Give the figures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _ALONE, f"sqlite://{folder}/s.db"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    events, sound, taken, memory = json.loads(done.stdout)
    yield Figure(f"{COUNT:,} agents, {TURNS} turns each", taken, "s", "", f"{events:,} events, {sound:,} logs verified")
    yield Figure("memory that they took", memory, "MB", "", "peak of a process of their own")
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite://{folder}/s.db"
        kill_half_way(store, COUNT)
        began = time.perf_counter()
        found = asyncio.run(resume(store))
        taken = time.perf_counter() - began
    assert found.agents == found.sound == found.complete == COUNT, found
    note = f"{found.turns_before:,} of {COUNT * TURNS:,} turns were kept as done; {found.sound:,} logs verified"
    yield Figure(f"{COUNT:,} agents killed half way, and resumed", taken, "s", "", note)


def work_alone(store: str) -> None:
    """Run the crowd in a process that did nothing before, and write its events, sound logs, seconds and megabytes."""
    before, began = _memory(), time.perf_counter()
    events, sound = asyncio.run(crowd(store, COUNT))
    print(json.dumps([events, sound, time.perf_counter() - began, _memory() - before]))


def _memory() -> float:
    """Give the peak memory of this process in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


async def crowd(store: str, count: int) -> tuple[int, int]:
    """Have that many agents live at once and take their turns. Give the events, and how many logs are sound."""
    async with Harness(Config(), store, [scripted(_SCRIPTS)]) as harness:
        agents = await _asked(harness, count)
        await asyncio.gather(*(agent.when_idle() for agent in agents))
        assert all(agent.session.ledger.turns.last == TURNS for agent in agents)
        events = sum(agent.session.next_seq for agent in agents)
        for agent in agents:
            await agent.dispose()
        return events, await _sound(harness.store, [agent.id for agent in agents])


async def _asked(harness: Harness, count: int) -> list[OwnedAgent]:
    """Give agents, each with an input for every turn."""
    agents = [await harness.agents.create(_MODEL) for _ in range(count)]
    for agent in agents:
        for turn in range(TURNS):
            agent.followup(f"turn {turn + 1}")
    return agents


async def _sound(store: Store, ids: list[str]) -> int:
    return sum([(await store.verify(id)).sound for id in ids])


def kill_half_way(store: str, count: int) -> None:
    """Have a process run a crowd, and kill it when half of all turns have ended and every agent has its input."""
    with subprocess.Popen(
        [sys.executable, "-c", _WORKER, store, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        os.kill(process.pid, signal.SIGKILL)
    assert said == "half", said


async def work_until_killed(store: str, count: str) -> None:
    """Run a crowd until half of its turns have ended, say so, and stay there: busy, but for what the store writes."""
    async with Harness(Config(), store, [scripted(_SCRIPTS)]) as harness:
        agents = await _asked(harness, int(count))
        # What is killed before it was ever kept cannot be resumed.
        await asyncio.gather(*(agent.session.flush() for agent in agents))
        while sum(map(_ended, agents)) < len(agents) * TURNS // 2:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        print("half", flush=True)
        time.sleep(3600)  # noqa: ASYNC251 - no agent goes on


@dataclass(frozen=True)
class Resumed:
    """What became of a crowd that was killed.

    Attributes:
        agents: how many sessions there are.
        turns_before: how many turns had come to their end when it was killed, as far as the store knows.
        complete: how many sessions hold every input once, in order, and nothing pending.
        sound: how many logs verify.
    """

    agents: int
    turns_before: int
    complete: int
    sound: int


async def resume(store: str) -> Resumed:
    """Resume every session of a store, have it take the turns that are left, and look at all of them."""
    async with Harness(Config(), store, [scripted(_SCRIPTS)]) as harness:
        ids = [found.id for found in await harness.store.list(limit=1_000_000)]
        agents = [await harness.agents.resume(id, model=_MODEL) for id in ids]
        before = sum(map(_ended, agents))
        for agent in agents:
            agent.wake()
        await asyncio.gather(*(agent.when_idle() for agent in agents))
        complete = sum(map(_is_complete, agents))
        for agent in agents:
            await agent.dispose()
        return Resumed(len(ids), before, complete, await _sound(harness.store, ids))


def _ended(agent: OwnedAgent) -> int:
    """Give how many turns an agent has completed."""
    ends = (event.data for event in agent.session.events if event.type == "turn/end")
    return sum(isinstance(end, TurnEnd) and end.reason.kind == "completed" for end in ends)


def _is_complete(agent: OwnedAgent) -> bool:
    said = [event.data for event in agent.session.events if event.type == "user/message"]
    prompts = [one.text for one in said if isinstance(one, Message) and isinstance(one.source, UserSource)]
    return prompts == [f"turn {turn + 1}" for turn in range(TURNS)] and not len(agent.session.project("inbox"))
