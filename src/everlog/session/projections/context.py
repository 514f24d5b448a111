"""The capacity of the route in force: provider, model and context window."""

from __future__ import annotations

from typing import Any, TypeAlias

from everlog.session.event import Event, Replace
from everlog.session.log import Log
from everlog.session.payloads import RequestContext

ContextState: TypeAlias = "dict[str, Any]"


class ContextProjection:
    """The seq of the last request/context."""

    name = "context"
    version = 1

    def init(self) -> ContextState:
        """Give the state before any context."""
        return {"seq": None}

    def apply(self, state: ContextState, event: Event) -> None:
        """A context is in force until the next one."""
        if event.type == "request/context" and type(event.surface_op) is not Replace:
            state["seq"] = event.seq

    def view(self, state: ContextState, log: Log) -> RequestContext | None:
        """Give the context; None before the first, and where a foreign one is malformed."""
        data = None if state["seq"] is None else log.events[state["seq"]].data
        return data if isinstance(data, RequestContext) else None


PROJECTION = ContextProjection()
