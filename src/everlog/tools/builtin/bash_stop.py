"""`bash_stop`: the end of a command in the background."""

from __future__ import annotations

from everlog.tools.declare import tool
from everlog.tools.jobs import jobs_of
from everlog.tools.seam import ToolContext, ToolOutput


@tool(effects="read-only")  # it ends nothing but what bash began
async def bash_stop(context: ToolContext, job: str) -> ToolOutput:
    """End a command in the background, with everything that it started, and give its last output.

    Args:
        job: The id that bash gave.
    """
    found = jobs_of(context).get(context, job)
    await found.stop()
    return await found.news(context)
