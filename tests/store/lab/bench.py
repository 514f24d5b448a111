"""The bench of the lab: starts trials, and looks at what they leave."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.session.stories import Story, plain_turn
from tests.store.lab import work

from everlog import open_store
from everlog.store import SessionNotFound
from everlog.store.store import Store

ROOT = Path(__file__).parents[3]
FAIL, FULL, SHORT, TEAR, DIE_BEFORE, DIE_AFTER, FAIL_FROM_HERE = range(1, 8)


@dataclass
class Outcome:
    """How a trial ended: its exit status, negative for a signal, and what it was promised before.

    One that came to its end says how many calls of the disk it made, and how many seconds it took.
    """

    status: int
    promises: list[tuple[str, int]] = field(default_factory=list)
    calls: int | None = None
    seconds: float | None = None
    error: str | None = None

    def promised(self, name: str) -> int | None:
        """Give the last number that was promised under a name."""
        found = [number for given, number in self.promises if given == name]
        return found[-1] if found else None


class Bench:
    """Runs trials one after another."""

    def __init__(self, folder: Path, disk: Path | None = None) -> None:
        self._folder = folder
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        if disk is not None:
            environment["LD_PRELOAD"] = str(disk)
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.store.lab.server"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, kill_after: float | None = None, **trial: Any) -> Outcome:
        """Run one trial, killing it after so many seconds when it still runs."""
        promises = self._folder / "promises"
        promises.unlink(missing_ok=True)
        self._say({**trial, "promises": str(promises)})
        self._hear("begun")
        if kill_after is None:
            self._say("wait")
        else:
            time.sleep(kill_after)
            self._say("kill")
        outcome = Outcome(int(self._hear("status")))
        for line in promises.read_text().splitlines() if promises.exists() else ():
            name, _, rest = line.partition(" ")
            if name == "calls":
                outcome.calls = int(rest)
            elif name == "took":
                outcome.seconds = int(rest) / 1e6
            elif name == "error":
                outcome.error = rest.replace("\\n", "\n")
            else:
                outcome.promises.append((name, int(rest)))
        return outcome

    def _say(self, what: dict[str, Any] | str) -> None:
        assert self._server.stdin is not None
        print(json.dumps(what), file=self._server.stdin, flush=True)

    def _hear(self, name: str) -> str:
        assert self._server.stdout is not None
        given, _, rest = self._server.stdout.readline().partition(" ")
        assert given == name, (given, rest)
        return rest

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.kill()
        self._server.communicate()


def built_disk(folder: Path) -> Path | None:
    """Compile the disk that can fail; None where there is no compiler or no LD_PRELOAD."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        return None
    built = folder / "disk.so"
    source = Path(__file__).with_name("disk.c")
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl", "-lpthread"],
        capture_output=True,
        check=False,
    )
    return built if done.returncode == 0 else None


async def check_session(url: str, id: str, seed: int, promised: int | None, steps: int = work.STEPS) -> int:
    """See that a session holds what was promised, nothing else, opens, is closed once, and goes on; give its length."""
    whole = work.expected(id, seed, steps)
    async with open_store(url) as store:
        try:
            async with await store.open(id) as seen:
                kept = [event.to_json() for event in seen.events][: seen.stored]
                shown = [event.to_json() for event in seen.events]
        except SessionNotFound:
            assert not promised, f"{promised} events were promised, and the session is gone"
            return 0
        assert kept == whole[: len(kept)]
        assert len(kept) >= (promised or 0)
        check_blobs(store, id, kept)
        async with await store.open(id, "write") as session:
            assert [event.to_json() for event in session.events] == shown
            assert not session.ledger.turns.is_open
        async with await store.open(id, "write") as session:
            assert [event.to_json() for event in session.events] == shown
            plain_turn(Story(session), "it goes on")
            await session.flush()
        found = await store.verify(id)
        assert found.faults == ()
        assert found.violations == ()
        assert id in {summary.id for summary in await store.list()}
    return len(kept)


def check_blobs(store: Store, id: str, kept: list[bytes]) -> None:
    """See that each blob that is named is there."""
    for own in kept:
        if b'"lab/blob"' in own:
            hash = json.loads(own)["data"]["blob"]
            assert store.blobs.get(hash)


def steps_apart(count: int, most: int) -> Iterator[int]:
    """Give every number below `count`, or as many of them, evenly, as `most`."""
    step = max(1, -(-count // most))
    yield from range(0, count, step)
