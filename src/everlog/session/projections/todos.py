"""The to-do list; the last one written wins, whole."""

from __future__ import annotations

from typing import Any, TypeAlias

from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.payloads import Todo, TodoWrite

TodosState: TypeAlias = "dict[str, Any]"


class TodosProjection:
    """The seq of the last todo/write that holds a list."""

    name = "todos"
    version = 1

    def init(self) -> TodosState:
        """Give the state before any list."""
        return {"seq": None}

    def apply(self, state: TodosState, event: Event) -> None:
        """A list counts until the next one."""
        if event.type == "todo/write" and isinstance(event.data, TodoWrite):
            state["seq"] = event.seq

    def view(self, state: TodosState, log: Log) -> tuple[Todo, ...]:
        """Give the entries in order; none before the first list."""
        data = None if state["seq"] is None else log.events[state["seq"]].data
        return data.todos if isinstance(data, TodoWrite) else ()


PROJECTION = TodosProjection()
