"""Runs one scripted session again and again, each time in a process that is killed with SIGKILL at another point.

    python -m tests.agent.killing FOLDER

Each run has a folder of its own, named after its point, with the store and two files that the process wrote
while it lived: `promised`, the seq before which a flush said that everything is durable, and `ran`, a line for
each time that a tool took effect. The processes are forks of this one, so that a hundred of them are cheap.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.agent.stage import MODEL, call, stage

from everlog.agent.seam import DISPATCH, Agent, Outgoing
from everlog.kernel import Config, Context, Plugin, discover, plugin
from everlog.llm.seam import RETRY, FailedAttempt, Retry
from everlog.session.event import Event
from everlog.session.records import Delta
from everlog.store.seam import DurableSession
from everlog.tools.declare import tool
from everlog.tools.seam import Tool, ToolContext

SESSION = "killed"
ANSWERS = [
    [{"reasoning": "Two things."}, {"text": "I look."}, *[call("look", at=n) for n in "ab"], call("change", to="1")],
    {"fail": {"code": "SERVER", "status": 500}},
    [{"text": "Now I change it."}, call("change", to="2"), call("look", at="c")],
    "It is changed.",
    [call("change", to="3")],
    "Done.",
]


@dataclass(frozen=True)
class Point:
    """Where a process is killed: at the `number`th time that it comes to a place of this kind, from 1."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.number}"


class Executioner:
    """Counts the places that a process comes to, and kills it at one of them."""

    def __init__(self, point: Point | None) -> None:
        self._point = point
        self.counts: dict[str, int] = {}

    def pass_by(self, kind: str) -> None:
        """Tell that the process is at a place of this kind."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self._point == Point(kind, self.counts[kind]):
            os.kill(os.getpid(), signal.SIGKILL)


def note(path: Path, line: str) -> None:
    """Append a line so that it outlives the process."""
    with path.open("a") as file:
        file.write(line + "\n")


def tools_of(folder: Path, executioner: Executioner) -> list[Tool]:
    """Give a tool that only looks and one that changes something, which notes that it did."""

    @tool(effects="read-only", parallel_safe=True)
    async def look(at: str) -> str:
        """Look at something.

        Args:
            at: what.
        """
        executioner.pass_by("within-look")
        await asyncio.sleep(0.02 if at == "a" else 0)
        return f"seen {at}"

    @tool
    async def change(context: ToolContext, to: str) -> str:
        """Change something.

        Args:
            to: what it shall be.
        """
        executioner.pass_by("before-effect")
        note(folder / "ran", f"{to}")
        executioner.pass_by("after-effect")
        return f"changed to {to}"

    return [look, change]


def killing_dispatch(executioner: Executioner) -> Plugin:
    async def dispatch(
        next: Callable[[Outgoing], Awaitable[AsyncIterator[Delta]]], outgoing: Outgoing
    ) -> AsyncIterator[Delta]:
        executioner.pass_by("before-dispatch")
        return await next(outgoing)

    async def once_more(failed: FailedAttempt) -> Retry:
        return Retry(delay_ms=1)

    @plugin()
    async def watching(ctx: Context) -> AsyncIterator[None]:
        """Stands between the flush and the dispatch, and has failed attempts made again."""
        ctx.on(DISPATCH, dispatch)
        ctx.on(RETRY, once_more, order=-1)
        yield

    return watching


def watch_writes(session: DurableSession, folder: Path, executioner: Executioner) -> None:
    """Come by before and after each write of the store, and note each promise of a flush."""
    lease = session._writing.lease
    flush = session._flush

    def watched(write: Callable[[Any], Any], kind: str) -> Callable[[Any], Any]:
        def writing(batch: Any) -> Any:
            executioner.pass_by(f"before-{kind}")
            answer = write(batch)
            executioner.pass_by(f"after-{kind}")
            return answer

        return writing

    async def promising(*, patient: bool) -> None:
        target = session.next_seq
        await flush(patient=patient)
        note(folder / "promised", str(target))

    lease.append = watched(lease.append, "write")  # type: ignore[method-assign]
    lease.append_synced = watched(lease.append_synced, "synced-write")  # type: ignore[method-assign]
    session._flush = promising  # type: ignore[method-assign]


async def live(folder: Path, executioner: Executioner) -> None:
    """Run the session to its end, or to the point."""
    plugins = [killing_dispatch(executioner)]
    async with stage(ANSWERS, tools_of(folder, executioner), plugins, f"sqlite://{folder}/sessions.db") as harness:

        def set_up(agent: Agent) -> None:
            session = agent.session
            assert isinstance(session, DurableSession)
            watch_writes(session, folder, executioner)
            session.observe(lambda event: executioner.pass_by("event"))
            session.observe(Interjection(agent))
            agent.inject("It is raining.")
            agent.followup("Change it.")
            agent.followup("And once more.")

        agent = await harness.agents.create(MODEL, header={"id": SESSION}, set_up=set_up)
        await agent.when_idle()
    note(folder / "counts", "\n".join(f"{kind} {count}" for kind, count in executioner.counts.items()))


class Interjection:
    """Has a word in the turn at its first call."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._said = False

    def __call__(self, event: Event) -> None:
        if event.type == "tool/call" and not self._said:
            self._said = True
            # An observer may not append; what it has to say comes right after.
            asyncio.get_running_loop().call_soon(self._agent.steer, "Quickly, please.")


def run_to(point: Point | None, folder: Path) -> None:
    """Run the session in a process of its own, which does not outlive the point.

    Nothing is left of a run that did not come to its point: how many writes there are depends on the clock.
    """
    folder.mkdir()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(live(folder, Executioner(point)))
            os._exit(0)
        except BaseException as error:
            note(folder / "error", repr(error))
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), f"{folder.name} ended with {code}"
    if point and code == 0:
        shutil.rmtree(folder)


def points(counts: Path) -> list[Point]:
    """Give every place that the unkilled run came to."""
    kinds = (line.split() for line in counts.read_text().splitlines())
    return [Point(kind, number) for kind, count in kinds for number in range(1, int(count) + 1)]


def main(folder: Path) -> None:
    discover(Config())  # what each run imports is imported once, before the processes part
    import_module("everlog.store.sqlite")
    run_to(None, folder / "unkilled")
    for point in points(folder / "unkilled" / "counts"):
        run_to(point, folder / str(point))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
