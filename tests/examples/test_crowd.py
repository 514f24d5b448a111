"""Many agents in one process. A thousand of them are a benchmark, `make bench`; a test has time for fewer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.agents import TURNS, crowd, kill_half_way, resume

COUNT = 100


async def test_every_agent_of_a_crowd_takes_its_turns_and_leaves_a_sound_log(tmp_path: Path) -> None:
    _, sound = await crowd(f"sqlite://{tmp_path}/s.db", COUNT)
    assert sound == COUNT


async def test_agents_that_were_killed_half_way_are_resumed_and_take_every_turn_once(tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/s.db"
    await asyncio.to_thread(kill_half_way, store, COUNT)
    found = await resume(store)
    assert (found.agents, found.complete, found.sound) == (COUNT, COUNT, COUNT)
    assert 0 < found.turns_before < COUNT * TURNS
