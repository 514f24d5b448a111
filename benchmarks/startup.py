"""Start-up of the command line, in processes of its own, beside `python -c pass` in turn."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure
from everlog import open_store
from everlog.session.messages import user_message

ROUNDS = 15
SESSIONS = 1_000

_PASS = [sys.executable, "-c", "pass"]
_EVERLOG = str(Path(sys.executable).with_name("everlog"))


def figures() -> Iterator[Figure]:
    """Give the figures of start-up."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/sessions.db"
        asyncio.run(_fill(url))
        commands = [_PASS, [_EVERLOG, "--help"], [_EVERLOG, "sessions", "--limit", str(SESSIONS), "--store", url]]
        taken = _in_turn(commands, {**os.environ, "EVERLOG_CONFIG": _empty_config(folder)})
    note = f"of python -c pass ({taken[0] * 1000:.0f} ms), median of {ROUNDS} in turn"
    yield Figure("everlog --help", taken[1] / taken[0], "x", "<= 6", note)
    yield Figure(f"everlog sessions, {SESSIONS:,} of them", taken[2] / taken[0], "x", "<= 15", note)


async def _fill(url: str) -> None:
    async with open_store(url) as store:
        for number in range(SESSIONS):
            session = await store.create({"id": f"session-{number:05}", "createdAt": 1_700_000_000_000 + number})
            session.append(user_message(f"Task number {number}: look at the code and make the tests pass."), "append")
            await session.close()


def _empty_config(folder: str) -> str:
    path = Path(folder, "everlog.toml")
    path.touch()
    return str(path)


def _in_turn(commands: list[list[str]], environment: dict[str, str]) -> list[float]:
    """Give the median seconds of each command; they take turns, so that the machine's moods strike all alike."""
    taken: list[list[float]] = [[] for _ in commands]
    for _ in range(ROUNDS):
        for command, times in zip(commands, taken, strict=True):
            start = time.perf_counter()
            subprocess.run(command, env=environment, capture_output=True, check=True)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]
