"""Background jobs: commands that go on while the agent does other things. Each agent has its own; they end with it."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from everlog.kernel import Scope
from everlog.tools.processes import Command
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, output
from everlog.tools.spooling import shown_output, written
from everlog.tools.threads import in_thread

MAX_OUTPUT_BYTES = 256_000_000
MAX_JOBS = 20
MAX_KEPT = 10
"""Of how many jobs that ended, and were not asked since, an agent keeps the output: each has a file."""


@dataclass
class Job:
    """One job.

    Attributes:
        id: what the model calls it by.
        command: the shell command.
        running: the process group.
        out: where its output goes.
        position: how many bytes of the output have been given.
        ending: why it was ended before its time, or None.
        ended: whether it and all that it started have ended, so that nothing more is written.
        dropped: how many bytes of output were never given, and are gone.
    """

    id: str
    command: str
    running: Command
    out: BinaryIO
    position: int = 0
    ending: str | None = None
    ended: bool = False
    dropped: int = 0
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def state(self) -> str:
        """Whether it runs, and how it ended."""
        status = self.running.status
        if self.ending is not None:
            return f"ended: {self.ending}"
        if status is None:
            return "running"
        return f"exit status {status}" if status >= 0 else f"ended by signal {-status}"

    async def stop(self) -> None:
        """End it, with everything that it started; one that has ended stays as it is."""
        if self.running.status is None:
            self.ending = "it was stopped"
        await self.end()

    async def end(self) -> None:
        """End what of it still runs."""
        await self.running.end()
        self.ended = True

    async def news(self, context: ToolContext) -> ToolOutput:
        """Give what it wrote since this was last asked, and its state."""
        async with self._reading:
            text = "" if self.out.closed else await self._read(context)
        gone = f"[{self.dropped:,} bytes of output are gone: too many jobs ended after it]" if self.dropped else ""
        told = [line for line in (text, gone, f"[{self.id}: {self.state}]") if line]
        return output("\n".join(told), {"job": self.id, "exitStatus": self.running.status})

    async def _read(self, context: ToolContext) -> str:
        """Give what is new; when nothing more can come, the file is no longer needed."""
        ended, end = self.ended, written(self.out)  # what comes while this is read is for the next time
        text = await in_thread(partial(shown_output, context, self.out, self.position, end))
        self.position = end
        if ended:
            self.out.close()
        return text

    @property
    def keeps_output(self) -> bool:
        """Tell whether it has ended, and still holds a file of which nobody reads just now."""
        return self.ended and not self.out.closed and not self._reading.locked()

    def drop_output(self) -> None:
        """Give up what was not asked for."""
        self.dropped = written(self.out) - self.position
        self.out.close()


class Jobs:
    """The service: the jobs of every agent."""

    def __init__(self) -> None:
        self._jobs: dict[Scope | None, dict[str, Job]] = {}
        self._watching: set[asyncio.Task[None]] = set()

    def add(self, context: ToolContext, command: str, running: Command, out: BinaryIO) -> Job:
        """Take over a command that was started, whose output goes to `out`."""
        mine = self._of(context.scope)
        job = Job(f"job-{len(mine) + 1}", command, running, out)
        mine[job.id] = job
        watch = asyncio.create_task(self._watch(mine, job), name=job.id)
        self._watching.add(watch)
        watch.add_done_callback(self._watching.discard)
        return job

    def check_room(self, context: ToolContext) -> None:
        """Raise ToolFailure when the agent has as many running jobs as it may have."""
        running = [job.id for job in self._of(context.scope).values() if job.running.status is None]
        if len(running) >= MAX_JOBS:
            text = f"{MAX_JOBS} jobs are running: {', '.join(running)}. Stop one first."
            raise ToolFailure(text, code="TOO_MANY_JOBS")

    def get(self, context: ToolContext, id: str) -> Job:
        """Give a job of this agent. Raises ToolFailure."""
        mine = self._of(context.scope)
        if id not in mine:
            there = ", ".join(f"{job.id} ({job.command[:60]})" for job in mine.values()) or "none"
            raise ToolFailure(f"There is no job {id!r}; there are: {there}.", code="NO_SUCH_JOB")
        return mine[id]

    async def close(self, scope: Scope | None) -> None:
        """End the jobs of an agent."""
        for job in self._jobs.pop(scope, {}).values():
            await job.end()
            job.out.close()

    async def close_all(self) -> None:
        """End every job."""
        for scope in list(self._jobs):
            await self.close(scope)

    async def _watch(self, mine: dict[str, Job], job: Job) -> None:
        await _watched(job)
        kept = [other for other in mine.values() if other.keeps_output]
        for oldest in kept[:-MAX_KEPT]:
            oldest.drop_output()

    def _of(self, scope: Scope | None) -> dict[str, Job]:
        if scope not in self._jobs:
            self._jobs[scope] = {}
            if scope is not None:
                scope.at_end(lambda: self.close(scope))
        return self._jobs[scope]


async def _watched(job: Job) -> None:
    """Wait for a job's end, and end it when its output has no end; then end what it left behind."""
    leader = asyncio.ensure_future(job.running.wait())
    while not leader.done():
        await asyncio.wait({leader}, timeout=0.25)
        if not job.out.closed and written(job.out) > MAX_OUTPUT_BYTES:
            job.ending = f"it wrote more than {MAX_OUTPUT_BYTES:,} bytes"
            break
    await job.end()


def jobs_of(context: ToolContext) -> Jobs:
    """Give the service. Raises ToolFailure where there is none."""
    if context.scope is None or Jobs not in context.scope:
        raise ToolFailure("Nothing runs in the background here.", code="NO_JOBS")
    return context.scope[Jobs]


def spool() -> BinaryIO:
    """Give a file for a command's output, which is gone when it is closed."""
    return tempfile.TemporaryFile()
