"""The title; the last one wins."""

from __future__ import annotations

from typing import Any, TypeAlias

from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.payloads import SessionTitle

TitleState: TypeAlias = "dict[str, Any]"


class TitleProjection:
    """The seq of the last session/title that holds one."""

    name = "title"
    version = 1

    def init(self) -> TitleState:
        """Give the state before any title."""
        return {"seq": None}

    def apply(self, state: TitleState, event: Event) -> None:
        """A title counts until the next one."""
        if event.type == "session/title" and isinstance(event.data, SessionTitle):
            state["seq"] = event.seq

    def view(self, state: TitleState, log: Log) -> str | None:
        """Give the title, or None before the first."""
        data = None if state["seq"] is None else log.events[state["seq"]].data
        return data.title if isinstance(data, SessionTitle) else None


PROJECTION = TitleProjection()
