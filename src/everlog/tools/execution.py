"""Running one tool so that it cannot hang anybody: a time-out, a way to stop it, and a grace time, then it is left.

A task that ignores its cancellation, or a thread that never looks at its stop sign, is abandoned: nobody waits
for it any more, and the outcome says that it may be running still.
"""

from __future__ import annotations

import asyncio
import contextlib

from everlog.session.messages import ToolCall
from everlog.tools.hooks import ToolUse
from everlog.tools.seam import Effects, ToolFailure, ToolOutput, failure

GRACE_SECONDS = 5.0
"""How long a tool that was told to stop is waited for."""

_abandoned: set[asyncio.Task[ToolOutput]] = set()


async def execute(use: ToolUse, grace: float = GRACE_SECONDS) -> ToolOutput:
    """Run the tool, and give its output, or a failure in its place, whatever the tool does.

    When the caller is cancelled the tool is told to stop, what became of it stands in `use.outcome`, and
    CancelledError is raised.
    """
    task = asyncio.create_task(_contained(use), name=f"tool {use.tool.name}")
    try:
        await asyncio.wait({task}, timeout=use.tool.timeout)
    except asyncio.CancelledError:
        stopped = await _stop(task, use, grace)
        use.outcome.output = _outcome(task, use) if stopped else abandoned(use.tool.effects, "was cancelled")
        raise
    if task.done():
        return _outcome(task, use)
    reason = f"took longer than {use.tool.timeout:g} seconds"
    stopped = await _stop(task, use, grace)
    return timed_out(use.tool.effects, reason) if stopped else abandoned(use.tool.effects, reason)


async def _contained(use: ToolUse) -> ToolOutput:
    """Turn all that a tool may raise into a failure, so that none of it reaches the event loop."""
    try:
        return await use.tool.invoke(use.context, use.arguments)
    except ToolFailure as error:
        return failure(str(error), error.code, error.reason, error.meta)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return failure(f"{use.tool.name} was cancelled from within.", "TOOL_FAILED")
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: they are the tool's, not ours
        return failure(f"{use.tool.name} failed: {_described(error)}", "TOOL_FAILED")


def _described(error: BaseException) -> str:
    try:
        said = str(error)
    except BaseException:
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


async def _stop(task: asyncio.Task[ToolOutput], use: ToolUse, grace: float) -> bool:
    """Tell the tool to stop, and wait for it; False when it did not in time. A second cancellation ends the wait."""
    use.context.cancelled.set()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait({task}, timeout=grace)
    if not task.done():
        _abandoned.add(task)
        task.add_done_callback(_forget)
    return task.done()


def _forget(task: asyncio.Task[ToolOutput]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()


def _outcome(task: asyncio.Task[ToolOutput], use: ToolUse) -> ToolOutput:
    return cancelled(use.tool.effects) if task.cancelled() else task.result()


def _afterwards(effects: Effects) -> str:
    match effects:
        case "read-only":
            return "It only reads, so you may call it again."
        case "idempotent":
            return "Running it again has the same effect, so you may call it again."
        case _:
            return "It may have taken effect in part: look before you repeat it."


def cancelled(effects: Effects) -> ToolOutput:
    """Give the output of a call that was stopped while it ran."""
    return failure(f"The call was cancelled while it ran. {_afterwards(effects)}", "TOOL_CANCELLED")


def timed_out(effects: Effects, reason: str) -> ToolOutput:
    """Give the output of a call that was stopped because of its time."""
    return failure(f"The call {reason} and was stopped. {_afterwards(effects)}", "TOOL_TIMEOUT")


def abandoned(effects: Effects, reason: str) -> ToolOutput:
    """Give the output of a call that would not stop."""
    text = f"The call {reason} and did not stop when told to: it was left behind, and may be running still."
    return failure(f"{text} {_afterwards(effects)}", "TOOL_ABANDONED")


def not_started(call: ToolCall) -> ToolOutput:
    """Give the output of a call that was cancelled before its tool began."""
    text = f"The turn was cancelled before {call.name} was begun: it had no effect. Call again if it is still needed."
    return failure(text, "TOOL_NOT_STARTED")
