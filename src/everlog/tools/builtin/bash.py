"""`bash`: a command in the workspace, with bounded time and output, of which nothing keeps running unasked."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from functools import partial
from typing import BinaryIO

from everlog.session.jsonvalue import JSONObject
from everlog.tools.declare import tool
from everlog.tools.jobs import MAX_OUTPUT_BYTES, jobs_of, spool
from everlog.tools.processes import Command
from everlog.tools.sandbox import Sandbox
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, output
from everlog.tools.spooling import shown_output, written
from everlog.tools.threads import in_thread

DEFAULT_SECONDS = 120.0
MAX_SECONDS = 3_600.0

QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""What keeps programs from waiting for a person who is not there."""


@tool(effects="mutating", subject="command")
async def bash(
    context: ToolContext, command: str, timeout: float = DEFAULT_SECONDS, background: bool = False
) -> ToolOutput:
    """Run a shell command in the workspace, and give its output (stdout and stderr together) and exit status.

    Each command has a shell of its own: a `cd` or a variable does not last. Input is empty. When the command has
    ended, so has everything that it started; for a server or a long build, set background.

    Args:
        command: The command, for bash.
        timeout: Seconds after which it is ended, at most 3,600. Not for commands in the background.
        background: Give the id of a job at once, and let the command run on; see bash_output and bash_stop.
    """
    if background:
        return await _begun(context, command)
    return await _finished(context, command, min(max(timeout, 0.1), MAX_SECONDS))


async def _begun(context: ToolContext, command: str) -> ToolOutput:
    jobs = jobs_of(context)
    jobs.check_room(context)
    out = spool()
    try:
        running = await _start(context, command, out)
    except BaseException:
        out.close()
        raise
    job = jobs.add(context, command, running, out)
    return output(f"Running in the background as {job.id}; bash_output tells how it goes on.", {"job": job.id})


async def _finished(context: ToolContext, command: str, seconds: float) -> ToolOutput:
    with spool() as out:
        running = await _start(context, command, out)
        try:
            ending = await _watched(running, out, seconds)
            left = await running.end()
        except asyncio.CancelledError:
            await running.end()
            text = await in_thread(partial(shown_output, context, out, 0, written(out)))
            text = f"{text}\n[cancelled: the command was ended, and may have done part of its work]".lstrip("\n")
            raise ToolFailure(text, code="TOOL_CANCELLED") from None
        size = written(out)
        text = await in_thread(partial(shown_output, context, out, 0, size))
        return _result(text, running, size, ending, left)


async def _start(context: ToolContext, command: str, out: BinaryIO) -> Command:
    words = [shutil.which("bash") or "sh", "-c", command]
    if context.scope is not None and Sandbox in context.scope:
        words = context.scope[Sandbox].wrapped(words, context.cwd)
    environ = {**context.environ, **QUIET}
    try:
        return await Command.start(words, context.cwd, environ, out, uuid.uuid4().hex)
    except (OSError, ValueError) as error:
        raise ToolFailure(f"The command could not be started: {error}", code="COMMAND_NOT_STARTED") from None


async def _watched(running: Command, out: BinaryIO, seconds: float) -> str | None:
    """Wait for the command, as long as time and output allow; give what it broke, or None when it ended by itself."""
    leader = asyncio.ensure_future(running.wait())
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    try:
        while (rest := end - loop.time()) > 0:
            done, _ = await asyncio.wait({leader}, timeout=min(rest, 0.1))
            if done:
                return None
            if written(out) > MAX_OUTPUT_BYTES:
                return f"ended: it wrote more than {MAX_OUTPUT_BYTES:,} bytes"
        return f"ended: it took longer than {seconds:g} seconds"
    finally:
        leader.cancel()


def _result(text: str, running: Command, size: int, ending: str | None, left: int) -> ToolOutput:
    notes = [ending] if ending else []
    status = running.status
    if ending is None and status:
        notes.append(f"exit status {status}" if status > 0 else f"ended by signal {-status}")
    if left and ending is None:
        notes.append(f"{left} processes that it left behind were ended")
    told = "\n".join([*([text] if text else []), *(f"[{note}]" for note in notes)]) or "[no output]"
    meta: JSONObject = {"exitStatus": status, "bytes": size}
    if ending is not None:
        raise ToolFailure(told, code="TOOL_TIMEOUT", reason=ending, meta=meta)
    if status:
        raise ToolFailure(told, code="COMMAND_FAILED", reason=notes[0], meta=meta)
    return output(told, meta)
