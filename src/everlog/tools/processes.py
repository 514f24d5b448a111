"""Commands in process groups of their own, which are ended whole. POSIX; on Windows the process itself is ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

TERM_SECONDS = 2.0
"""How long a group that was asked to end (SIGTERM) is waited for, before it is killed."""

MARK = "EVERLOG_CALL"
"""The variable by which the processes of a call are known, also those that left its group."""

_WATCHED = 'exec 3<&0; ( (read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 & ); exec 3<&-; exec "$@" </dev/null'
"""Starts a watcher beside the command, and becomes the command. The watcher waits for the other end of stdin to be
closed, which it is at the latest when this process ends, however it ends; then it kills the group. It is no child
of the command, which may wait for all of its own."""


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

        A file and no pipe: a process that outlives the command cannot hold anybody up by keeping it open. When
        this process ends before the command, the group is killed. Raises OSError.
        """
        watched = os.name == "posix"
        process = await asyncio.create_subprocess_exec(
            *(["sh", "-c", _WATCHED, "sh", *command] if watched else command),
            cwd=cwd,
            env={**environ, MARK: mark},
            stdin=asyncio.subprocess.PIPE if watched else asyncio.subprocess.DEVNULL,
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

    async def wait_at_most(self, seconds: float) -> bool:
        """Wait for the leader to end, and tell whether it has."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), seconds)
        return self.status is not None

    async def end(self) -> int:
        """End the group and whatever left it: ask first, then kill. Gives how many processes were left behind.

        When the caller is cancelled meanwhile, they are killed at once.
        """
        try:
            if self.status is None:
                _signal_group(self.pid, signal.SIGTERM)
                await self.wait_at_most(TERM_SECONDS)
        finally:
            left = self._kill()
        await self._process.wait()
        return left

    def _kill(self) -> int:
        left = self._left()
        for pid in left:
            _signal(pid, _KILL)
        _signal_group(self.pid, _KILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        return len(left)

    def _left(self) -> set[int]:
        """Give the processes of this call that still run, but for the leader and the watcher."""
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
    """Tell whether a process runs, and is of the group or carries the call's mark, and is not the watcher."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            state, _, in_group = stat.read().rpartition(b")")[2].split()[:3]
        if state == b"Z" or _is_watcher_or_ends(pid):
            return False
        if int(in_group) == group:
            return True
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return f"{MARK}={mark}".encode() in environ.read().split(b"\0")
    except (OSError, ValueError):
        return False


def _is_watcher_or_ends(pid: int) -> bool:
    """Tell it of a process that runs. One that is ending, and no zombie yet, has no arguments any more.

    The watcher is, when the leader has ended: asyncio closes its end of stdin then.
    """
    with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
        arguments = cmdline.read()
    return not arguments or arguments.split(b"\0")[2:3] == [_WATCHED.encode()]


_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


def keep_private() -> Callable[[], None]:
    """Keep other processes of this user from reading this one's environment and memory; give what ends that.

    Else a command could read in /proc what its own environment does not hold. Linux only; elsewhere, and for
    processes of the administrator, nothing is kept.
    """
    if not sys.platform.startswith("linux"):
        return lambda: None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    before = prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
    prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)

    def undo() -> None:
        prctl(_PR_SET_DUMPABLE, before, 0, 0, 0)

    return undo
