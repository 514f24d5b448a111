"""Messages: what models and people say, as typed views over stored bytes.

The unions are open. A block or a source of a kind that this build does not know, or whose fields are not
of the known shape, becomes an `UnknownBlock` or `UnknownSource`; the bytes keep it whole. One of a known kind
with more keys than this build knows is what it is, and answers for those keys from its bytes: the classes
forbid unknown keys so that the decoder notices them, and such a message is read part by part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from everlog.session.jsonvalue import JSON, decode, encode
from everlog.session.views import Buffer, View, json_field, json_raw, with_bytes

_NO_RAW = Raw(b"")


class Text(View, frozen=True, tag="text", tag_field="type", forbid_unknown_fields=True):
    """Plain text."""

    text: str = ""


class Reasoning(View, frozen=True, tag="reasoning", tag_field="type", forbid_unknown_fields=True):
    """What a model thought before it answered. Signatures stand in the source's replay state."""

    text: str = ""


class Image(View, frozen=True, tag="image", tag_field="type", forbid_unknown_fields=True):
    """An image kept as a blob; `blob` is its content hash."""

    blob: str = ""
    media_type: str = ""


class File(View, frozen=True, tag="file", tag_field="type", forbid_unknown_fields=True):
    """A file kept as a blob; `blob` is its content hash."""

    blob: str = ""
    name: str = ""
    media_type: str = ""


class ToolCall(View, frozen=True, tag="tool-call", tag_field="type", forbid_unknown_fields=True):
    """A call that the model asks for; `arguments` is the model's raw text, JSON or not."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class UnknownBlock(View, frozen=True, tag="?", tag_field="type", forbid_unknown_fields=True):
    """A block of a kind that this build does not know; `value()` gives its JSON."""


class ToolResult(View, frozen=True, tag="tool-result", tag_field="type", forbid_unknown_fields=True):
    """What came back for one call."""

    tool_call_id: str = ""
    content: tuple[Text | Reasoning | Image | File | ToolCall | UnknownBlock, ...] = ()
    is_error: bool = False


Block: TypeAlias = Text | Reasoning | Image | File | ToolCall | ToolResult | UnknownBlock


class UserSource(View, frozen=True, tag="user", tag_field="kind", forbid_unknown_fields=True):
    """A person wrote it."""


class PluginSource(View, frozen=True, tag="plugin", tag_field="kind", forbid_unknown_fields=True):
    """A plugin wrote it: injected context, a compaction checkpoint."""

    plugin: str = ""
    form: str | None = None
    compaction_id: str | None = None


class ModelSource(View, frozen=True, tag="model", tag_field="kind", forbid_unknown_fields=True):
    """A model wrote it. `replay_state` is the provider's opaque state, handed back only to that provider."""

    provider: str
    model: str
    replay_state_json: Raw = msgspec.field(default=_NO_RAW, name="replayState")

    @property
    def replay_state(self) -> JSON:
        """Give the provider's opaque state, decoded afresh; None when there is none."""
        return json_field(self.replay_state_json)


class ToolSource(View, frozen=True, tag="tool", tag_field="kind", forbid_unknown_fields=True):
    """A tool answered the call with this id."""

    call_id: str = ""


class SystemPromptSource(View, frozen=True, tag="system-prompt", tag_field="kind", forbid_unknown_fields=True):
    """The rendered system prompt."""


class UnknownSource(View, frozen=True, tag="?", tag_field="kind", forbid_unknown_fields=True):
    """A source of a kind that this build does not know; `value()` gives its JSON."""


Source: TypeAlias = UserSource | PluginSource | ModelSource | ToolSource | SystemPromptSource | UnknownSource


class Message(View, frozen=True):
    """One message: `{id, role, content, source}` with frozen blocks."""

    id: str
    role: str
    content: tuple[Block, ...]
    source: Source

    @property
    def text(self) -> str:
        """Give the text blocks joined, without reasoning, calls and results."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Give the call blocks in order."""
        return tuple([block for block in self.content if type(block) is ToolCall])

    @property
    def result(self) -> ToolResult | None:
        """Give the first tool-result block, or None."""
        for block in self.content:
            if type(block) is ToolResult:
                return block
        return None


class _RawMessage(msgspec.Struct):
    id: str
    role: str
    content: list[Raw]
    source: Raw


_message = msgspec.json.Decoder(Message)
_block: msgspec.json.Decoder[Block] = msgspec.json.Decoder(
    Text | Reasoning | Image | File | ToolCall | ToolResult | UnknownBlock
)
_source: msgspec.json.Decoder[Source] = msgspec.json.Decoder(
    UserSource | PluginSource | ModelSource | ToolSource | SystemPromptSource | UnknownSource
)
_raw_message = msgspec.json.Decoder(_RawMessage)
_object = msgspec.json.Decoder(dict[str, Raw])
_array = msgspec.json.Decoder(list[Raw])


def read_message(data: Buffer) -> Message:
    """Read a message from its bytes, which stay its JSON.

    Raises:
        ValueError: it is not an object with a string `id`, a string `role`, an array `content` and a `source`.
    """
    try:
        message = _message.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        message = _read_open(data)
    force_setattr(message, "_json", data)
    return message


def _read_open(data: Buffer) -> Message:
    """Read a message that holds blocks or a source of unknown kinds."""
    try:
        raw = _raw_message.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None
    content = tuple(_read_block(bytes(block)) for block in raw.content)
    return Message(id=raw.id, role=raw.role, content=content, source=_read_source(bytes(raw.source)))


def _read_block(data: bytes) -> Block:
    try:
        return with_bytes(_block.decode(data), data)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        fields = _object.decode(data)
        if decode(bytes(fields["type"])) == "tool-result":
            return with_bytes(_read_result(fields), data)
        return with_bytes(_block.decode(_known(fields, "type", _BLOCK_KEYS)), data)
    except (KeyError, TypeError, ValueError, RecursionError):
        return with_bytes(UnknownBlock(), data)


def _read_result(fields: dict[str, Raw]) -> ToolResult:
    """Read a result block part by part.

    Raises:
        KeyError, ValueError: it has no string `toolCallId`, or no array `content`.
    """
    call_id = decode(bytes(fields["toolCallId"]))
    if not isinstance(call_id, str):
        raise ValueError("toolCallId is not a string")
    inner = tuple(_read_block(bytes(block)) for block in _array.decode(fields.get("content", b"[]")))
    is_error = bytes(fields.get("isError", b"")) == b"true"
    return ToolResult(tool_call_id=call_id, content=cast("tuple[Text, ...]", inner), is_error=is_error)


def _read_source(data: bytes) -> Source:
    try:
        return with_bytes(_source.decode(data), data)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        return with_bytes(_source.decode(_known(_object.decode(data), "kind", _SOURCE_KEYS)), data)
    except (KeyError, TypeError, ValueError, RecursionError):
        return with_bytes(UnknownSource(), data)


def _keys(*classes: type[View]) -> dict[object, frozenset[str]]:
    """Give the stored names that each kind has, by its tag."""
    found: dict[object, frozenset[str]] = {}
    for cls in classes:
        config = cls.__struct_config__
        found[config.tag] = frozenset({cast(str, config.tag_field), *cls.__struct_encode_fields__})
    return found


_BLOCK_KEYS = _keys(Text, Reasoning, Image, File, ToolCall)
_SOURCE_KEYS = _keys(UserSource, PluginSource, ModelSource, ToolSource, SystemPromptSource)


def _known(fields: dict[str, Raw], tag: str, keys: dict[object, frozenset[str]]) -> bytes:
    """Give the JSON of an object with only those keys that its kind has.

    Raises:
        KeyError, TypeError, ValueError: it is of no known kind.
    """
    names = keys[decode(bytes(fields[tag]))]
    held = [b'"%b":%b' % (name.encode(), bytes(raw)) for name, raw in fields.items() if name in names]
    return b"{%b}" % b",".join(held)


def message_from(value: object) -> Message:
    """Make a message from a JSON value; the same refusals as `read_message` and `encode`."""
    return read_message(encode(value))


def new_id() -> str:
    """Give a fresh message id."""
    import uuid  # looks at the machine when it is imported, which a list of sessions shall not wait for

    return str(uuid.uuid4())


def user_message(content: str | Iterable[Block], source: Source | None = None, id: str | None = None) -> Message:
    """Make a user-role message from text or blocks, by a person unless a source is given."""
    blocks = (Text(text=content),) if isinstance(content, str) else tuple(content)
    return Message(id=id or new_id(), role="user", content=blocks, source=source or UserSource())


def system_message(text: str, id: str | None = None) -> Message:
    """Make the message of a rendered system prompt."""
    return Message(id=id or new_id(), role="system", content=(Text(text=text),), source=SystemPromptSource())


def developer_message(text: str, plugin: str, id: str | None = None) -> Message:
    """Make a message that tells the model of a change in the session's conditions."""
    source = PluginSource(plugin=plugin)
    return Message(id=id or new_id(), role="developer", content=(Text(text=text),), source=source)


def tool_message(
    call_id: str, content: str | Iterable[Block], is_error: bool = False, id: str | None = None
) -> Message:
    """Make the message that answers one call."""
    blocks = (Text(text=content),) if isinstance(content, str) else tuple(content)
    result = ToolResult(tool_call_id=call_id, content=cast("tuple[Text, ...]", blocks), is_error=is_error)
    return Message(id=id or new_id(), role="user", content=(result,), source=ToolSource(call_id=call_id))


def model_source(provider: str, model: str, replay_state: object = None) -> ModelSource:
    """Make the source of an answer, with the provider's opaque state when it gave one."""
    raw = _NO_RAW if replay_state is None else json_raw(replay_state)
    return ModelSource(provider=provider, model=model, replay_state_json=raw)
