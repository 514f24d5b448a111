"""Runs sessions with one compaction again and again, each time in a process that ends with SIGKILL at another event.

    python -m tests.compaction.crashing FOLDER

The events up to the point are durable, and nothing after it exists. Each run has a folder of its own, named after
what asked for the compaction and the event.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.compaction.worker import NAME, Worker, workshop

from everlog.agent.seam import Agent, OwnedAgent
from everlog.kernel import Config, discover
from everlog.session.event import Event
from everlog.store.seam import DurableSession
from everlog.tools.declare import tool

SESSION = "crashed"
POINTS = 16
"""How many events of a run are a point, from the first counted one."""
WINDOW = 16_000
CONFIG = '[plugin.compaction.models."worker/it"]\nprune_from = 300\nprune_to = 50\n'


@tool(effects="read-only")
async def look(at: str) -> str:
    """Look at something.

    Args:
        at: what.
    """
    return f"{at}: " + "seen " * 800


def talk(number: int, request: Any) -> Any:
    """Words, but for a call now and then."""
    if request.messages[-1].text.startswith("look"):
        return [("look", {"at": f"x{number}"})]
    return f"answer {number} " + "word " * 500


class Killer:
    """Ends the process at an event, once all up to it is durable; the first counted one is that which `begins`."""

    def __init__(self, point: int | None, begins: Callable[[Event], bool]) -> None:
        self._point = point
        self._begins = begins
        self.seen: list[str] = []

    def watch(self, session: DurableSession) -> None:
        """Observe a session."""
        session.observe(lambda event: self._pass_by(session, event))

    def _pass_by(self, session: DurableSession, event: Event) -> None:
        if not self.seen and not self._begins(event):
            return
        self.seen.append(event.type)
        if self._point != len(self.seen):
            return
        durable = threading.Event()
        session._writing.flush(session.next_seq, lambda error: durable.set(), True)
        durable.wait(10)
        os.kill(os.getpid(), signal.SIGKILL)


async def fill(agent: OwnedAgent) -> None:
    """Say so much that the next prompt makes it too much."""
    for number in range(6):
        agent.followup(f"question {number} " + "word " * 1_500)
        await agent.when_idle()


async def by_itself(agent: OwnedAgent) -> None:
    """Ask on: the session is compacted before the request, and a tool is called after it."""
    await fill(agent)
    for text in ("question 6 " + "word " * 1_500, "look at it"):
        agent.followup(text)
        await agent.when_idle()


async def by_pruning(agent: OwnedAgent) -> None:
    """Have tools called until their results are too much."""
    for number in range(14):
        agent.followup(f"look at {number}")
        await agent.when_idle()


async def by_command(agent: OwnedAgent) -> None:
    """Ask for a compaction between turns, and for a turn while it runs."""
    await fill(agent)
    compacting = asyncio.create_task(agent.compact("the numbers"))
    await asyncio.sleep(0)
    agent.followup("and now?")
    await compacting
    await agent.when_idle()


def is_turn_of_compaction(event: Event) -> bool:
    """Whether this is the start of the turn in which it comes to the compaction."""
    return event.type == "turn/start" and event.data["turn"] == 7  # type: ignore[index, call-overload]


def is_prune(event: Event) -> bool:
    """Whether this is the first prune."""
    return event.type == "compaction/prune"


def is_start(event: Event) -> bool:
    """Whether this is the start of the compaction."""
    return event.type == "compaction/start"


RUNS: dict[str, tuple[Callable[[OwnedAgent], Any], Callable[[Event], bool]]] = {
    "window": (by_itself, is_turn_of_compaction),
    "prune": (by_pruning, is_prune),
    "command": (by_command, is_start),
}


async def live(folder: Path, run: str, killer: Killer) -> None:
    """Run a session to its end, or to the point."""
    act, _ = RUNS[run]
    async with workshop(Worker(talk, WINDOW), [look], store=f"sqlite://{folder}/sessions.db", config=CONFIG) as harness:

        def set_up(agent: Agent) -> None:
            assert isinstance(agent.session, DurableSession)
            killer.watch(agent.session)

        agent = await harness.agents.create(NAME, header={"id": SESSION}, set_up=set_up)
        await act(agent)
    (folder / "seen").write_text("\n".join(killer.seen))


def run_to(point: int | None, run: str, folder: Path) -> None:
    """Run a session in a process of its own."""
    folder.mkdir()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(live(folder, run, Killer(point, RUNS[run][1])))
            os._exit(0)
        except BaseException as error:
            (folder / "error").write_text(repr(error))
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    wanted = 0 if point is None else -signal.SIGKILL
    assert code == wanted, (
        f"{folder.name} ended with {code}: {(folder / 'error').exists() and (folder / 'error').read_text()}"
    )


def main(folder: Path) -> None:
    discover(Config())  # what each run imports is imported once, before the processes part
    import_module("everlog.store.sqlite")
    for run in RUNS:
        run_to(None, run, folder / f"{run}-whole")
        seen = (folder / f"{run}-whole" / "seen").read_text().splitlines()
        for point in range(1, min(len(seen), POINTS) + 1):
            run_to(point, run, folder / f"{run}-{point}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
