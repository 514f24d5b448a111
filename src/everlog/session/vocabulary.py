"""The vocabulary of event types: a value, handed to `Session.create` and to `open`.

`CORE` holds the types of the contract. A plugin adds its own with `CORE.with_types(...)`; those are always
log-only and are named `vendor/name`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from everlog.session import payloads as p
from everlog.session import shapes
from everlog.session.jsonvalue import JSON, decode_or_text
from everlog.session.messages import Message
from everlog.session.reading import reader
from everlog.session.views import View

Shape = Callable[[Any], None]


@dataclass(frozen=True)
class EventType:
    """One type of event.

    Attributes:
        name: the storage name, `room/verb`, or `vendor/name` for a plugin's.
        payload: the view of its data, or None when the data is any JSON value.
        surface: whether its events stand on the surface; only core types may.
        shapes: further demands on the view; each raises ValueError.
        open: whether data that does not fit the view is accepted, and shown as plain JSON.
    """

    name: str
    payload: type[View] | None = None
    surface: bool = False
    shapes: tuple[Shape, ...] = ()
    open: bool = False
    _read: Callable[[bytes], View] | None = field(init=False, repr=False, compare=False)

    check: Callable[[bytes], View | None] = field(init=False, repr=False, compare=False)
    """Reads the data of an event that is to be appended; gives None when it has no view, and raises ValueError
    when the data does not have the shape of this type."""

    def __post_init__(self) -> None:
        read = reader(self.payload).read if self.payload else None
        object.__setattr__(self, "_read", read)
        plain = read is not None and not self.open and not self.shapes
        object.__setattr__(self, "check", read if plain else self._check)

    def _check(self, data: bytes) -> View | None:
        if self._read is None:
            return None
        try:
            view = self._read(data)
        except ValueError:
            if self.open:
                return None
            raise
        for shape in self.shapes:
            shape(view)
        return view

    def view(self, data: bytes) -> View | JSON:
        """Read the data of an event that is in a log: its view where it fits, else as `decode_or_text` does."""
        if self._read is not None:
            try:
                return self._read(data)
            except ValueError:
                pass
        return decode_or_text(data)


class Vocabulary(Mapping[str, EventType]):
    """Event types by name; immutable. `types` is the same as a plain mapping, for where speed counts."""

    def __init__(self, types: Iterable[EventType]) -> None:
        self._types = {kind.name: kind for kind in types}
        self.types = MappingProxyType(self._types)
        self._names = {kind.payload: kind.name for kind in self._types.values() if kind.payload}

    def with_types(self, *types: EventType) -> Vocabulary:
        """Give a vocabulary that knows these types too.

        Raises:
            ValueError: a name is taken, has no vendor part, or the type claims a place on the surface.
        """
        for kind in types:
            if kind.name in self._types:
                raise ValueError(f"the event type {kind.name!r} exists already; name yours vendor/name")
            if "/" not in kind.name or kind.surface:
                raise ValueError(f"{kind.name!r}: a plugin's type is named vendor/name and is log-only")
        return Vocabulary([*self._types.values(), *types])

    def name_of(self, payload: type[View]) -> str | None:
        """Give the name of the type whose data has this view, or None."""
        return next((self._names[cls] for cls in payload.__mro__ if cls in self._names), None)

    def __getitem__(self, name: str) -> EventType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


CORE = Vocabulary(
    [
        EventType("turn/start", p.TurnStart),
        EventType("turn/end", p.TurnEnd, shapes=(shapes.turn_reason,)),
        EventType("step/start", p.StepStart),
        EventType("step/end", p.StepEnd),
        EventType("system/message", p.SystemMessage, True, (shapes.system_role,)),
        EventType("developer/message", p.DeveloperMessage, True, (shapes.developer_role,)),
        EventType("user/message", Message, True, (shapes.user_role,)),
        EventType("request/header", p.RequestHeaderEvent, shapes=(shapes.request_header,)),
        EventType("request/context", p.RequestContext),
        EventType("request/sent", p.RequestSent),
        EventType("request/side", p.RequestSide, shapes=(shapes.side_request,)),
        EventType("assistant/chunk", p.AssistantChunk, shapes=(shapes.chunk_records,)),
        EventType("assistant/message", p.AssistantMessage, True, (shapes.assistant_source,)),
        EventType("assistant/attempt", p.AssistantAttempt),
        EventType("llm/retry", p.LlmRetry),
        EventType("tool/call", p.ToolCallEvent),
        EventType("tool/settled", p.ToolSettled, shapes=(shapes.tool_message,)),
        EventType("tool/result", p.ToolResultEvent, True, (shapes.tool_message,)),
        EventType("inbox/spliced", p.InboxSpliced, shapes=(shapes.inbox_splice,)),
        EventType("approval/asked", p.ApprovalAsked),
        EventType("approval/decided", p.ApprovalDecided, shapes=(shapes.approval_outcome,)),
        EventType("compaction/start", p.CompactionStart),
        EventType("compaction/summary", p.CompactionSummary),
        EventType("compaction/prune", p.CompactionPrune),
        EventType("compaction/end", p.CompactionEnd),
        EventType("todo/write", p.TodoWrite, open=True),
        EventType("session/title", p.SessionTitle, open=True),
        EventType("session/end-seed", p.EndSeed, open=True),
        EventType("workspace/snapshot", p.WorkspaceSnapshot),
    ]
)
