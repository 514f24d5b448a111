"""What a command can find out about the process that runs it."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, ctypes, os, sys
from pathlib import Path
from everlog.tools.processes import keep_private
from everlog.tools.builtin import bash, read
from everlog.tools.seam import ToolContext
asyncio.run(read(ToolContext(cwd=Path("/")), file_path="/etc/hostname"))  # import what is imported late
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a change of user has hidden the process already
undo = keep_private() if sys.argv[1] == "private" else (lambda: None)
command = "tr '\\\\0' '\\\\n' < /proc/$PPID/environ | grep -c KEY_THAT_IS_SECRET || true"
print(asyncio.run(bash(ToolContext(cwd=Path("/")), command=command)).text.splitlines()[-1])
undo()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
@pytest.mark.parametrize(("how", "found"), [("private", False), ("open", True)])
def test_a_command_cannot_read_the_environment_of_everlog(how: str, found: bool) -> None:
    environ = {**os.environ, "EVERLOG_API_KEY": "KEY_THAT_IS_SECRET"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip() == "1") is found, done.stdout + done.stderr
