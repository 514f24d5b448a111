"""Many agents in one process, killed half way and resumed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from everlog import Harness, open_store
from everlog.kernel import Config
from everlog.llm.script import scripted
from everlog.session.messages import UserSource

COUNT, TURNS = 40, 3
SCRIPTS = {"it": ["One.", "Two.", "Three.", "Four.", "Five.", "Six."]}
WORKER = """
import asyncio, sys
from everlog import Harness
from everlog.kernel import Config
from everlog.llm.script import scripted
from tests.examples.test_crowd import COUNT, SCRIPTS, TURNS

async def main(store):
    async with Harness(Config(), store, [scripted(SCRIPTS, pace_ms=5)]) as harness:
        agents = [await harness.agents.create("script/it") for _ in range(COUNT)]
        for agent in agents:
            for turn in range(TURNS):
                agent.followup(str(turn))
        while sum(agent.session.ledger.turns.last for agent in agents) < COUNT * TURNS // 2:
            await asyncio.sleep(0.001)
        print("half", flush=True)
        await asyncio.gather(*(agent.when_idle() for agent in agents))
        await asyncio.sleep(60)

asyncio.run(main(sys.argv[1]))
"""


async def test_agents_that_were_killed_half_way_are_resumed_and_take_every_turn_once(tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/s.db"
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", WORKER, store], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        assert (await asyncio.to_thread(process.stdout.readline)).strip() == "half"
        os.kill(process.pid, signal.SIGKILL)
    async with Harness(Config(), store, [scripted(SCRIPTS)]) as harness:
        ids = [found.id for found in await harness.store.list(1000)]
        assert len(ids) == COUNT
        agents = [await harness.agents.resume(id, model="script/it") for id in ids]
        for agent in agents:
            if len(agent.session.project("inbox")):
                agent.wake()
        await asyncio.gather(*(agent.when_idle() for agent in agents))
        for agent in agents:
            said = [e.data for e in agent.session.events if e.type == "user/message"]
            prompts = [message.text for message in said if isinstance(message.source, UserSource)]  # type: ignore[union-attr]
            assert prompts == [str(turn) for turn in range(TURNS)]
            await agent.dispose()
    async with open_store(store) as opened:
        for id in ids:
            assert (await opened.verify(id)).sound
