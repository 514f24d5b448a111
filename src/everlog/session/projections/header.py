"""The request header in force."""

from __future__ import annotations

from typing import Any, TypeAlias

from everlog.session.event import Event, Replace
from everlog.session.log import Log
from everlog.session.past import Past
from everlog.session.payloads import RequestHeader

HeaderState: TypeAlias = "dict[str, Any]"


class HeaderProjection:
    """The seq of the last request/header."""

    name = "header"
    version = 1

    def init(self) -> HeaderState:
        """Give the state before any header."""
        return {"seq": None}

    def apply(self, state: HeaderState, event: Event) -> None:
        """A header is in force until the next one."""
        if event.type == "request/header" and type(event.surface_op) is not Replace:
            state["seq"] = event.seq

    def view(self, state: HeaderState, log: Log) -> RequestHeader | None:
        """Give the header; None before the first, and where a foreign one is malformed."""
        return Past(log).header(state["seq"])


PROJECTION = HeaderProjection()
