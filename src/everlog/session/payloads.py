"""The payload of every core event type, as typed views.

Attributes are snake_case, storage names camelCase. Fields without a default are those that rules, surface
or repair rest on; the shape of an event is refused at append when one is missing or of another kind. The
rest may be absent and is open: unknown keys pass and are kept.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from everlog.session.jsonvalue import JSON
from everlog.session.messages import Message
from everlog.session.views import Part, View, json_field

_NO_RAW = Raw(b"")


def _json(name: str) -> Raw:
    """Declare a JSON-valued field, decoded afresh by a property of its own."""
    field: Raw = msgspec.field(default=_NO_RAW, name=name)
    return field


class Payload(View, frozen=True):
    """The base of the payloads."""


class Usage(View, frozen=True):
    """Tokens of one request. The four kinds are disjoint; `reasoning_tokens` is a part of the output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class Failure(View, frozen=True):
    """Why a request failed: a message for people, a code for programs, the provider's status and delay."""

    message: str = ""
    code: str = "UNKNOWN"
    status: int | None = None
    provider_retry_after_ms: int | None = None
    request_id: str | None = None


class Reason(View, frozen=True):
    """Why a turn ended. `kind` tells which of the other fields are there."""

    kind: str
    reason_json: Raw = _json("reason")
    error: Failure | None = None
    which: str | None = None
    value_json: Raw = _json("value")

    @property
    def reason(self) -> JSON:
        """Give what aborted the turn, as `{kind}`; None for other kinds."""
        return json_field(self.reason_json)

    @property
    def limit(self) -> JSON:
        """Give the value of the limit that was met; None for other kinds."""
        return json_field(self.value_json)


class TurnStart(Payload, frozen=True):
    """A turn begins."""

    turn: int


class TurnEnd(Payload, frozen=True):
    """A turn is over."""

    turn: int
    reason: Reason


class StepStart(Payload, frozen=True):
    """A step begins."""

    turn: int
    step: int


class StepEnd(Payload, frozen=True):
    """A step is over; every call of it is answered."""

    turn: int
    step: int


class SystemMessage(Payload, frozen=True):
    """The rendered system prompt."""

    turn: int
    step: int
    message: Message


class DeveloperMessage(Payload, frozen=True):
    """A change of the session's conditions that the model is told."""

    turn: int
    step: int
    message: Message


class RequestHeader(View, frozen=True):
    """Everything that shapes a request besides its messages."""

    config_json: Raw = msgspec.field(name="config")
    adapter_defaults_json: Raw = _json("adapterDefaults")
    tools_json: Raw = _json("tools")

    @property
    def config(self) -> JSON:
        """Give the configuration, decoded afresh: `provider`, `model` and every option that shapes the body."""
        return json_field(self.config_json)

    @property
    def adapter_defaults(self) -> JSON:
        """Give which options the adapter filled in by itself."""
        return json_field(self.adapter_defaults_json)

    @property
    def tools(self) -> JSON:
        """Give the tools that were offered, as `{name, description, parameters}` objects; None when none were."""
        return json_field(self.tools_json)


class RequestHeaderEvent(Payload, frozen=True):
    """A full snapshot of the header, in force until the next one."""

    header: RequestHeader
    reason: str
    starts_series: bool | None = None


class RequestContext(Payload, frozen=True):
    """The capacity of the route: the context window in tokens."""

    provider: str
    model: str
    context_window: int | None = None


class RequestSent(Payload, frozen=True):
    """The digest and length in bytes of the body that goes out next."""

    turn: int
    step: int
    attempt: int
    adapter: str
    adapter_version: str
    sha256: str
    bytes: int


class RequestSide(Payload, frozen=True):
    """A request that belongs to no step; its messages are the surface (or nothing) followed by `messages`."""

    id: str
    purpose: str
    prefix: str
    header: RequestHeader
    adapter: str
    adapter_version: str
    sha256: str
    bytes: int
    messages_json: Raw = _json("messages")
    compaction_id: str | None = None

    @property
    def messages(self) -> JSON:
        """Give the messages that follow the prefix, decoded afresh."""
        return json_field(self.messages_json) or []


class AssistantChunk(Payload, frozen=True):
    """A run of raw stream records, packed; `everlog.session.records` reads and writes them."""

    turn: int
    step: int
    attempt: int
    records_json: Raw = msgspec.field(name="records")

    @property
    def records(self) -> JSON:
        """Give the records, decoded afresh."""
        return json_field(self.records_json)


class ChunkPart(Part, frozen=True, gc=False):
    """What the rules need of a chunk, which is by far the most frequent event."""

    turn: int
    step: int
    attempt: int
    records: list[Any]


class AssistantMessage(Payload, frozen=True):
    """The assembled answer of a step."""

    turn: int
    step: int
    message: Message
    usage: Usage | None = None
    interrupted: bool | None = None
    stream_json: Raw = _json("stream")


class AssistantAttempt(Payload, frozen=True):
    """An attempt that gave no message."""

    turn: int
    step: int
    attempt: int
    failure: Failure | None = None
    usage: Usage | None = None
    stream_json: Raw = _json("stream")


class LlmRetry(Payload, frozen=True):
    """The attempt named here failed and is tried again after `delay_ms`."""

    turn: int
    step: int
    attempt: int
    failure: Failure | None = None
    delay_ms: float = 0


class ToolCallEvent(Payload, frozen=True):
    """The loop takes a call up; `arguments` is the model's raw text."""

    turn: int
    step: int
    call_id: str
    name: str
    arguments: str


class ToolError(View, frozen=True):
    """Why a call gave an error: the class of it and a code for programs."""

    name: str = ""
    code: str = ""
    reason: str | None = None


class ToolSettled(Payload, frozen=True):
    """A finished result that waits for an earlier call's."""

    turn: int
    step: int
    message: Message
    error: ToolError | None = None
    meta_json: Raw = _json("meta")

    @property
    def meta(self) -> JSON:
        """Give the tool's own JSON for presentation, decoded afresh."""
        return json_field(self.meta_json)


class ToolResultEvent(ToolSettled, frozen=True):
    """The answer to one call, in call order."""


class InboxItem(View, frozen=True):
    """A message on its way in; `wakes` tells whether it starts a turn."""

    message: Message
    wakes: bool = False


class InboxSpliced(Payload, frozen=True):
    """A change of the inbox other than an entering."""

    target: str
    start: int
    removed_count: int = 0
    inserted: tuple[InboxItem, ...] = ()
    outcome: str | None = None


class ApprovalAsked(Payload, frozen=True):
    """A person is asked whether a call may run."""

    id: str
    tool_name: str = ""
    call_id: str | None = None
    reason: str | None = None


class ApprovalDecided(Payload, frozen=True):
    """The answer to an ask."""

    id: str
    outcome: str
    rule_json: Raw = _json("rule")

    @property
    def rule(self) -> JSON:
        """Give the standing permission that `allowed-always` adds."""
        return json_field(self.rule_json)


class Range(View, frozen=True):
    """Two surface seqs, inclusive, by position."""

    start_seq: int
    end_seq: int


class CompactionStart(Payload, frozen=True):
    """The lock of a compaction; `turn` is the open turn, or None between turns."""

    compaction_id: str
    turn: int | None
    trigger: str = "unknown"
    source_command_id: str | None = None


class CompactionSummary(Payload, frozen=True):
    """What a compaction found to say about the nodes that it shadows."""

    compaction_id: str
    shadowed_range: Range
    shadowed_seqs: tuple[int, ...]
    shadowed_tokens: float
    summary_json: Raw = _json("summary")
    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    usage: Usage | None = None
    source_command_id: str | None = None
    raw_output_json: Raw = _json("rawOutput")


class CompactionPrune(Payload, frozen=True):
    """A long old result is about to be shortened in the view."""

    shadowed_range: Range
    shadowed_seqs: tuple[int, ...]
    shadowed_tokens: float
    compaction_id: str | None = None


class CompactionEnd(Payload, frozen=True):
    """The compaction is over, well or with an error."""

    compaction_id: str
    turn: int | None
    error_json: Raw = _json("error")
    source_command_id: str | None = None


class Todo(View, frozen=True):
    """One entry of the to-do list."""

    content: str
    status: str


class TodoWrite(Payload, frozen=True):
    """The whole to-do list; the last one wins."""

    todos: tuple[Todo, ...] = ()


class SessionTitle(Payload, frozen=True):
    """The title; the last one wins."""

    title: str = ""
    source_json: Raw = _json("source")


class EndSeed(Payload, frozen=True):
    """Ends what was inherited (in a fork) or reloaded."""

    inherited: bool | None = None


class WorkspaceSnapshot(Payload, frozen=True):
    """The files of the workspace at this point, as a git commit."""

    commit: str
    dirty: bool = False
    root: str = ""
