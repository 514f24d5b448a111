"""Commands in process groups of their own, which are ended whole. POSIX; on Windows the process itself is ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

TERM_SECONDS = 2.0
"""How long a group that was asked to end (SIGTERM) is waited for, before it is killed."""

MARK = "EVERLOG_CALL"
"""The variable by which the processes of a call are known, also those that left its group."""


class Command:
    """A running command, the leader of a process group."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self._process = process
        self._mark = mark

    @classmethod
    async def start(
        cls, command: Sequence[str], cwd: Path, environ: Mapping[str, str], out: BinaryIO, mark: str
    ) -> Command:
        """Start a command whose output, both kinds, goes to an open file, and whose input is empty.

        A file and no pipe: a process that outlives the command cannot hold anybody up by keeping it open.
        Raises OSError.
        """
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            env={**environ, MARK: mark},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        return cls(process, mark)

    @property
    def pid(self) -> int:
        """The id of the leader, and of the group."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status; negative for a signal; None while the leader runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Wait for the leader to end, and give its exit status."""
        return await self._process.wait()

    async def end(self) -> int:
        """End the group and whatever left it: ask first, then kill. Gives how many processes were left to end."""
        if self.status is None:
            _signal_group(self.pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._process.wait()), TERM_SECONDS)
        return await self.sweep()

    async def sweep(self) -> int:
        """Kill what is left of the group, and what left it, and give how many those were."""
        left = self._left()
        for pid in left:
            _signal(pid, _KILL)
        _signal_group(self.pid, _KILL)
        await self._process.wait()
        return len(left)

    def _left(self) -> set[int]:
        """Give the processes of this call that still run, but for the leader."""
        if not sys.platform.startswith("linux"):
            return set()
        return {pid for pid in _all_pids() if pid != self.pid and _belongs(pid, self.pid, self._mark)}


_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(group, number)
        else:
            os.kill(group, number)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _belongs(pid: int, group: int, mark: str) -> bool:
    """Tell whether a process runs, and is of the group or carries the call's mark."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            state, _, in_group = stat.read().rpartition(b")")[2].split()[:3]
        if state == b"Z":
            return False
        if int(in_group) == group:
            return True
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return f"{MARK}={mark}".encode() in environ.read().split(b"\0")
    except (OSError, ValueError):
        return False
