"""`bash_output`: how a command in the background goes on."""

from __future__ import annotations

from everlog.tools.declare import tool
from everlog.tools.jobs import jobs_of
from everlog.tools.seam import ToolContext, ToolOutput

MAX_WAIT = 60.0


@tool(effects="read-only")
async def bash_output(context: ToolContext, job: str, wait: float = 0) -> ToolOutput:
    """Give what a command in the background has written since it was last asked, and whether it still runs.

    Args:
        job: The id that bash gave.
        wait: Seconds to wait for the command to end first, at most 60.
    """
    found = jobs_of(context).get(context, job)
    await found.running.wait_at_most(min(max(wait, 0), MAX_WAIT))
    return await found.news(context)
