"""A process that has everything imported and forks a child for each trial, so that one costs milliseconds.

Reads a trial a line as JSON, `{work, url, id, seed, promises, folder, at, kind, journal}`, and answers `begun N`
with the process id. Told `"kill"` or `"wait"` then, it answers how the child ended, `status N`, negative for a
signal. It kills by itself, before it asks for the status: so long the process id is nobody else's.

The child appends each promise to the file `promises`, a line with a name and a number. With the disk of the lab
in front of it (see `disk.c`), the call `at` below `folder` goes wrong in the way of `kind`, and the calls go into
the file `journal`.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import time
import traceback
from typing import Any

from tests.store.lab.work import WORKS

import everlog.store.jsonl
import everlog.store.jsonl.framed
import everlog.store.sqlite  # noqa: F401 - imported before the forks


def main() -> None:
    """Serve trials until the input ends."""
    for line in sys.stdin:
        trial = json.loads(line)
        pid = os.fork()
        if pid == 0:
            child(trial)
        print("begun", pid, flush=True)
        if json.loads(sys.stdin.readline()) == "kill":
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        print("status", os.waitstatus_to_exitcode(status), flush=True)


def child(trial: dict[str, Any]) -> None:
    """Run one trial, and end."""
    promises = os.open(trial["promises"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    journal = os.open(trial["journal"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if trial.get("journal") else -1
    lab = ctypes.CDLL(None) if trial.get("folder") else None

    def promise(name: str, number: int) -> None:
        os.write(promises, f"{name} {number}\n".encode())
        if journal >= 0:
            os.write(journal, f"promise|{name}||{number}|0\n".encode())

    code = 0
    begun = time.monotonic()
    try:
        if lab is not None:
            lab.lab_arm(os.fsencode(trial["folder"]), ctypes.c_long(trial["at"]), trial["kind"], journal)
        asyncio.run(WORKS[trial["work"]](trial["url"], trial["id"], trial["seed"], promise))
    except BaseException:
        os.write(promises, b"error " + traceback.format_exc().encode().replace(b"\n", b"\\n") + b"\n")
        code = 1
    if lab is not None:
        os.write(promises, b"calls %d\n" % lab.lab_count())
    os.write(promises, b"took %d\n" % ((time.monotonic() - begun) * 1e6))
    os._exit(code)


if __name__ == "__main__":
    main()
