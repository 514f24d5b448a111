"""`todo_write`: the model's own list of what is to be done."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from everlog.session.jsonvalue import scrub
from everlog.session.payloads import Todo, TodoWrite
from everlog.tools.declare import tool
from everlog.tools.seam import ToolContext, ToolOutput, output


class Entry(TypedDict):
    """One thing to be done."""

    content: Annotated[str, Meta(description="What is to be done, in a line.")]
    status: Literal["pending", "in_progress", "completed"]


@tool(effects="read-only")  # nothing but the log changes
async def todo_write(context: ToolContext, todos: list[Entry]) -> ToolOutput:
    """Write the to-do list of this session. Each call gives the whole list and replaces the one before.

    Use it for work of several steps: keep one entry in progress, and mark each as completed when it is.

    Args:
        todos: The whole list, in order.
    """
    entries = tuple(Todo(content=scrub(entry["content"]), status=entry["status"]) for entry in todos)
    context.record(TodoWrite(todos=entries))
    done = sum(entry.status == "completed" for entry in entries)
    return output(f"The list has {len(entries)} entries, {done} of them completed.")
