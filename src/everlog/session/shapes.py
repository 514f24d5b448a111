"""Demands on a payload that its field types cannot state. Each raises ValueError with what was expected."""

from __future__ import annotations

from collections.abc import Iterable

from everlog.session.jsonvalue import decode
from everlog.session.messages import (
    Block,
    Message,
    ModelSource,
    ToolResult,
    ToolSource,
    UnknownBlock,
    UnknownSource,
)
from everlog.session.payloads import (
    ApprovalDecided,
    AssistantChunk,
    AssistantMessage,
    DeveloperMessage,
    InboxSpliced,
    RequestHeader,
    RequestHeaderEvent,
    RequestSide,
    SystemMessage,
    ToolSettled,
    TurnEnd,
)
from everlog.session.views import View

OUTCOMES = ("allowed-once", "allowed-always", "rejected", "cancelled", "unavailable")
TARGETS = ("next-turn", "next-step")
_RETIRED_REASONS = ("fallback",)
_DEFAULTED = {"reasoningEffort": str, "maxTokens": (int, float)}


def _role(message: Message, role: str) -> None:
    if message.role != role:
        raise ValueError(f'the message must have role "{role}", not "{message.role}"')
    if type(message.source) is UnknownSource:
        _named(message.source, "kind", "the source")
    _blocks(message.content)


def _blocks(content: Iterable[Block]) -> None:
    """Unions are open to kinds that are not known, not to what has no kind at all."""
    for block in content:
        if type(block) is UnknownBlock:
            _named(block, "type", "each block of the content")


def _named(part: View, tag: str, what: str) -> None:
    value = decode(part.to_json())
    if not isinstance(value, dict) or not isinstance(value.get(tag), str):
        raise ValueError(f"{what} must be an object with a {tag}")


def system_role(data: SystemMessage) -> None:
    """A system message has role `system`."""
    _role(data.message, "system")


def developer_role(data: DeveloperMessage) -> None:
    """A developer message has role `developer`."""
    _role(data.message, "developer")


def user_role(data: Message) -> None:
    """A user message has role `user`."""
    _role(data, "user")


def assistant_source(data: AssistantMessage) -> None:
    """An answer has role `assistant` and a source that names provider and model."""
    _role(data.message, "assistant")
    if not isinstance(data.message.source, ModelSource):
        raise ValueError("the message must have a model source with provider and model")


def tool_message(data: ToolSettled) -> None:
    """A result is a user-role message with one tool-result block, and a source that names the same call."""
    _role(data.message, "user")
    blocks = data.message.content
    if len(blocks) != 1 or not isinstance(blocks[0], ToolResult):
        raise ValueError("the message must hold exactly one tool-result block with an array as content")
    _blocks(blocks[0].content)
    source = data.message.source
    if not isinstance(source, ToolSource) or source.call_id != blocks[0].tool_call_id:
        raise ValueError("the source of the message must be the tool's, and name the call that the block answers")
    if data.error is not None and not blocks[0].is_error:
        raise ValueError("an error stands only beside a block that says isError")


def turn_reason(data: TurnEnd) -> None:
    """What aborted a turn has a kind, and an error says what went wrong, if need be in the words of older logs."""
    reason = data.reason
    if reason.kind == "aborted" and reason.reason_json:
        cause = reason.reason
        if not isinstance(cause, dict) or not isinstance(cause.get("kind"), str):
            raise ValueError("reason.reason must be an object with a kind")
    if reason.kind == "error" and reason.error is None and not {"failure", "message"} & set(reason):
        raise ValueError("reason.error must say what went wrong")


def request_header(data: RequestHeaderEvent) -> None:
    """A header names provider and model; `adapterDefaults` flags options that `config` holds."""
    if data.reason in _RETIRED_REASONS:
        raise ValueError(f"the reason {data.reason} is retired")
    header(data.header)


def header(value: RequestHeader) -> None:
    """See `request_header`."""
    config = value.config
    if not isinstance(config, dict) or not all(isinstance(config.get(k), str) for k in ("provider", "model")):
        raise ValueError("header.config must name provider and model")
    effort = config.get("reasoningEffort", "")
    if not isinstance(effort, str):
        raise ValueError("header.config.reasoningEffort must be a string")
    defaults = value.adapter_defaults
    if value.adapter_defaults_json and not isinstance(defaults, dict):
        raise ValueError("header.adapterDefaults must be an object")
    for name, flag in (defaults or {}).items():  # type: ignore[union-attr]
        if name not in _DEFAULTED or flag is not True or name not in config:
            raise ValueError(f"header.adapterDefaults.{name} must be true and name an option of config")


def side_request(data: RequestSide) -> None:
    """A side request stands on the surface or on nothing, and brings a list of messages."""
    if data.prefix not in ("surface", "none"):
        raise ValueError('prefix must be "surface" or "none"')
    if not isinstance(data.messages, list):
        raise ValueError("messages must be an array")
    header(data.header)


def chunk_records(data: AssistantChunk) -> None:
    """A chunk holds an array of records."""
    if bytes(data.records_json).lstrip()[:1] != b"[":  # of what is JSON, only an array begins so
        raise ValueError("records must be an array")


def inbox_splice(data: InboxSpliced) -> None:
    """A splice names one of the two queues, and counts from zero."""
    if data.target not in TARGETS:
        raise ValueError('target must be "next-turn" or "next-step"')
    if data.start < 0 or data.removed_count < 0:
        raise ValueError("start and removedCount must be 0 or more")


def approval_outcome(data: ApprovalDecided) -> None:
    """A decision has one of the five outcomes."""
    if data.outcome not in OUTCOMES:
        raise ValueError(f"outcome must be one of {', '.join(OUTCOMES)}")
