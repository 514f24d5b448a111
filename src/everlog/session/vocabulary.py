"""The vocabulary: the event types that are known, with the rules and projections of plugins.

It is a value, handed to `Session.create` and to `open_store`. `CORE` holds the types of the core. What a plugin
adds is named `vendor/name`, and its types are always log-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import MsgspecError, convert

from everlog.session import payloads as p
from everlog.session import shapes
from everlog.session.jsonvalue import JSON, NotJSON, decode_or_text, encode
from everlog.session.messages import Message
from everlog.session.projection import Projection
from everlog.session.projection import names as built_in
from everlog.session.reading import reader
from everlog.session.rule import Rule
from everlog.session.views import Part, View

Shape = Callable[[Any], None]


class Check(Protocol):
    """Judges the data of an event by its bytes, and by its value where that is at hand."""

    def __call__(self, data: bytes, value: object = None) -> View | Part | None:
        """Give what the rules look at: the view, or the part of a type that has one, or None when there is neither.

        Raises ValueError when the shape is wrong.
        """
        ...


@dataclass(frozen=True)
class EventType:
    """One type of event.

    Attributes:
        name: the storage name, `room/verb`, or `vendor/name` for a plugin's.
        payload: the view of its data, or None when the data is any JSON value.
        surface: whether its events stand on the surface; only core types may.
        shapes: further demands on the view; each raises ValueError.
        open: whether data that does not fit the view is accepted, and shown as plain JSON.
        part: what the rules look at where the value of the data is at hand; the view is then made when it is asked for.
            It has to fit what the view and the shapes fit, and nothing else.
    """

    name: str
    payload: type[View] | None = None
    surface: bool = False
    shapes: tuple[Shape, ...] = ()
    open: bool = False
    part: type[Part] | None = None
    _read: Callable[[bytes], View] | None = field(init=False, repr=False, compare=False)

    check: Check = field(init=False, repr=False, compare=False)
    """Reads the data of an event that is to be appended, from its bytes and, where that is at hand, its value; gives
    None when it has no view, and raises ValueError when the data does not have the shape of this type."""

    def __post_init__(self) -> None:
        read = reader(self.payload).read if self.payload else None
        object.__setattr__(self, "_read", read)
        object.__setattr__(self, "check", _checked(self.payload, self.shapes, self.open, self.part))

    def view(self, data: bytes) -> View | JSON:
        """Read the data of an event that is in a log: its view where it fits, else as `decode_or_text` does."""
        if self._read is not None:
            try:
                return self._read(data)
            except ValueError:
                pass
        return decode_or_text(data)


def _checked(payload: type[View] | None, shapes: tuple[Shape, ...], open: bool, part: type[Part] | None) -> Check:
    """Give what reads and judges the data of a type: a function that does no more than this type needs."""
    if payload is None:
        return lambda data, value=None: None
    take = reader(payload).take
    if not shapes and not open:
        return take

    def whole(data: bytes, value: object = None) -> View | None:
        try:
            view = take(data, value)
        except ValueError:
            if open:
                return None
            raise
        for shape in shapes:
            shape(view)
        return view

    return whole if part is None else _parted(part, whole)


def _parted(part: type[Part], whole: Check) -> Check:
    """Give a check that looks at a part of the value; at the whole, when there is no value or something is wrong."""

    def check(data: bytes, value: object = None) -> View | Part | None:
        if value is not None:
            try:
                return convert(value, part)
            except (MsgspecError, RecursionError):
                pass
        return whole(data)

    return check


class Vocabulary(Mapping[str, EventType]):
    """Event types by name; immutable.

    Attributes:
        types: the same as a plain mapping, for where speed counts.
        rules: the rules that plugins brought, by name.
        projections: the projections that plugins brought, by name; `Log.project` finds them.
    """

    def __init__(
        self,
        types: Iterable[EventType],
        rules: Iterable[Rule[Any]] = (),
        projections: Iterable[Projection[Any, Any]] = (),
    ) -> None:
        self._types = {kind.name: kind for kind in types}
        self.types = MappingProxyType(self._types)
        self.rules: Mapping[str, Rule[Any]] = MappingProxyType({rule.name: rule for rule in rules})
        self.projections: Mapping[str, Projection[Any, Any]] = MappingProxyType(
            {fold.name: fold for fold in projections}
        )
        self._names = {kind.payload: kind.name for kind in self._types.values() if kind.payload}

    def with_types(self, *types: EventType) -> Vocabulary:
        """Give a vocabulary that knows these types too.

        Raises:
            ValueError: a name is taken, has no vendor part, or the type claims a place on the surface.
        """
        known = dict(self._types)
        for kind in types:
            if kind.name in known:
                raise ValueError(f"the event type {kind.name!r} exists already; name yours vendor/name")
            if not _has_vendor(kind.name) or kind.surface:
                raise ValueError(f"{kind.name!r}: a plugin's type is named vendor/name and is log-only")
            known[kind.name] = kind
        return Vocabulary(known.values(), self.rules.values(), self.projections.values())

    def with_rules(self, *rules: Rule[Any]) -> Vocabulary:
        """Give a vocabulary whose logs obey these rules too, after those that it has.

        Raises:
            ValueError: a name is taken or has no vendor part, a type that the rule sees is not known, or its first
                state is not JSON.
        """
        held = dict(self.rules)
        for rule in rules:
            _demand_own_name("rule", rule.name, held)
            unknown = [name for name in rule.sees if name not in self._types]
            if unknown:
                raise ValueError(f"the rule {rule.name!r} wants to see what is no event type: {', '.join(unknown)}")
            try:
                encode(rule.init())
            except NotJSON as error:
                raise ValueError(f"the rule {rule.name!r} has a state that is not JSON: {error}") from None
            held[rule.name] = rule
        return Vocabulary(self._types.values(), held.values(), self.projections.values())

    def with_projections(self, *projections: Projection[Any, Any]) -> Vocabulary:
        """Give a vocabulary whose logs find these projections by name.

        Raises:
            ValueError: a name is taken, or has no vendor part.
        """
        held = dict(self.projections)
        for fold in projections:
            _demand_own_name("projection", fold.name, [*held, *built_in()])
            held[fold.name] = fold
        return Vocabulary(self._types.values(), self.rules.values(), held.values())

    def name_of(self, payload: type[View]) -> str | None:
        """Give the name of the type whose data has this view, or None."""
        return next((self._names[cls] for cls in payload.__mro__ if cls in self._names), None)

    def __getitem__(self, name: str) -> EventType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


def _has_vendor(name: str) -> bool:
    vendor, _, rest = name.partition("/")
    return bool(vendor and rest)


def _demand_own_name(what: str, name: str, taken: Sequence[str] | Mapping[str, object]) -> None:
    if name in taken:
        raise ValueError(f"the {what} {name!r} exists already; name yours vendor/name")
    if not _has_vendor(name):
        raise ValueError(f"{name!r}: a plugin's {what} is named vendor/name")


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
        EventType("assistant/chunk", p.AssistantChunk, shapes=(shapes.chunk_records,), part=p.ChunkPart),
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
