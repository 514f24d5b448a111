"""The body of a messages request, from the neutral request alone.

What the configuration may hold, besides `provider` and `model`:

| key | in the body |
|---|---|
| `maxTokens` | `max_tokens`, which the protocol demands |
| `thinking` | `thinking`, as it is: `{type: "enabled", budget_tokens}`, `{type: "adaptive"}` |
| `reasoningEffort` | `output_config.effort` |
| `temperature`, `topP`, `topK`, `serviceTier` | the same in snake case |
| `stop` | `stop_sequences` |
| `toolChoice` | `"auto"`, `"none"`, `"required"` or `{name}`, as the protocol names them |
| `parallelToolCalls` | false disables parallel calls |
| `cache` | true marks the prompt for the provider's cache: see `_mark` |
| `cacheTtl` | how long it is kept, `5m` or `1h` |
| `mediaBudget` | bytes of encoded images and files; see `everlog.llm.media` |
| `extra` | an object whose keys are laid over the body as they are |
| `dialect.media` | false when the model cannot see images and files |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from everlog.llm.adapter import BlobReader
from everlog.llm.failure import BAD_REQUEST, ModelFailure
from everlog.llm.media import DEFAULT_BUDGET, Media, as_text, base64_text, is_text
from everlog.llm.replay import Blocks, digest, own_items
from everlog.llm.wireorder import Names, result_of, wire_order
from everlog.session.messages import Block, File, Image, Message, Text, ToolCall, ToolResult
from everlog.session.request import Request

NAME = "anthropic-messages"
OPTIONS = {
    "maxTokens": "max_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "stop": "stop_sequences",
    "serviceTier": "service_tier",
}
"""Neutral option -> parameter of the protocol."""

BEFORE = "[What came before is not in view.]"
"""What the person is taken to have said when the conversation in view begins with the model."""

_NAMES = Names(id_pattern=re.compile("[A-Za-z0-9_-]{1,128}"), id_prefix="toolu_")
_OWN = ("model", "messages", "system", "tools", "stream")
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}

Item = dict[str, Any]


def messages_body(request: Request, blobs: BlobReader | None) -> bytes:
    """Give the body. Raises `ModelFailure` (`BAD_REQUEST`) for what the protocol cannot say."""
    config, tools = request.config, request.tools
    ordered = wire_order(request.messages, {str(tool.get("name")) for tool in tools}, _NAMES)
    system: list[Item] = [_text(block) for m in ordered if m.role == "system" for block in _texts(m.content)]
    messages = _messages(request, config, [m for m in ordered if m.role != "system"], blobs)
    offered: list[Item] = [_tool(tool) for tool in tools]
    if config.get("cache"):
        _mark(config, system, offered, messages)
    body: Item = {"model": request.model}
    body.update((name, config[option]) for option, name in OPTIONS.items() if option in config)
    if system:
        body["system"] = system
    if offered:
        body["tools"] = offered
        body.update(_tool_choice(config))
    body["messages"] = messages
    if "thinking" in config and not _lacks_thinking(config["thinking"], messages):
        body["thinking"] = config["thinking"]
    if "reasoningEffort" in config:
        body["output_config"] = {"effort": config["reasoningEffort"]}
    body["stream"] = True
    body.update((name, value) for name, value in config.get("extra", {}).items() if name not in _OWN)
    return msgspec.json.encode(body)


def _tool(tool: Item) -> Item:
    made = {"name": tool.get("name"), "description": tool.get("description"), "input_schema": tool.get("parameters")}
    return {key: value for key, value in made.items() if value is not None}


def _tool_choice(config: Item) -> Item:
    said = config.get("toolChoice", "auto")
    choice: Item = {"type": "tool", "name": said["name"]} if isinstance(said, dict) else {"type": _CHOICES[said]}
    if config.get("parallelToolCalls") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {} if choice == {"type": "auto"} else {"tool_choice": choice}


def _messages(request: Request, config: Item, ordered: Sequence[Message], blobs: BlobReader | None) -> list[Item]:
    dialect = config.get("dialect")
    accepts_media = dialect.get("media", True) if isinstance(dialect, dict) else True
    media = Media(ordered, blobs, config.get("mediaBudget", DEFAULT_BUDGET), accepts_media)
    writer = _Writer(request, media)
    written: list[Item] = []
    for message in ordered:
        role = "assistant" if message.role == "assistant" else "user"
        content = list(writer.write(message))
        if not content:
            continue
        if written and written[-1]["role"] == role:
            written[-1]["content"] += content
        else:
            written.append({"role": role, "content": content})
    if not written:
        raise ModelFailure("the request holds no message to answer", BAD_REQUEST)
    if written[0]["role"] == "assistant":
        written.insert(0, {"role": "user", "content": [{"type": "text", "text": BEFORE}]})
    return written


class _Writer(msgspec.Struct):
    """Writes the content of the messages of one request."""

    request: Request
    media: Media

    def write(self, message: Message) -> Iterator[Item]:
        result = result_of(message)
        if result is not None:
            yield self._result(result)
        elif message.role == "assistant":
            yield from self._answer(message)
        else:
            yield from self._parts(message.content)

    def _answer(self, message: Message) -> Iterator[Item]:
        items = own_items(message, self.request, NAME)
        replayed = None if items is None else _replayed(items, message)
        if replayed is not None:
            yield from replayed
            return
        for block in message.content:
            if isinstance(block, Text) and block.text.strip():
                yield _text(block)
            elif isinstance(block, ToolCall):
                yield _call(block)

    def _parts(self, content: Sequence[Block]) -> Iterator[Item]:
        for block in content:
            if isinstance(block, Text) and block.text.strip():
                yield _text(block)
            elif isinstance(block, Image | File):
                yield self._medium(block)

    def _medium(self, block: Image | File) -> Item:
        content = self.media.next_content(block)
        if isinstance(content, Text):
            return _text(content)
        if is_text(block):
            return {"type": "text", "text": as_text(block, content)}
        source = {"type": "base64", "media_type": block.media_type, "data": base64_text(content)}
        if isinstance(block, Image):
            return {"type": "image", "source": source}
        return {"type": "document", "source": source, **({"title": block.name} if block.name else {})}

    def _result(self, result: ToolResult) -> Item:
        written: Item = {"type": "tool_result", "tool_use_id": result.tool_call_id}
        content = list(self._parts(result.content))
        if content:
            written["content"] = content
        if result.is_error:
            written["is_error"] = True
        return written


def _texts(content: Sequence[Block]) -> Iterator[Text]:
    return (block for block in content if isinstance(block, Text) and block.text.strip())


def _text(block: Text) -> Item:
    return {"type": "text", "text": block.text}


def _call(call: ToolCall) -> Item:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": msgspec.Raw(call.arguments.encode())}


def _replayed(items: Sequence[Item], message: Message) -> list[Item] | None:
    """Give the blocks of an answer as the provider gave them, or None when the content does not fit them."""
    blocks = Blocks(message.content)
    written: list[Item] = []
    try:
        for item in items:
            match item.get("type"):
                case "text":
                    written += [_text(block) for block in blocks.texts(1) if block.text.strip()]
                case "tool_use":
                    written.append(_call(blocks.call()))
                case "thinking":
                    text = _signed(item, blocks)
                    written.append({"type": "thinking", "thinking": text, "signature": item["signature"]})
                case "redacted_thinking":
                    written.append({"type": "redacted_thinking", "data": item["data"]})
                case _:
                    return None
    except (IndexError, KeyError, ValueError):
        return None
    return written if blocks.all_taken else None


def _signed(item: Item, blocks: Blocks) -> str:
    """Give the text that a signature is for. Raises ValueError when it is not the one that was signed."""
    text = "" if item.get("empty") else blocks.thought().text
    if digest(text) != item["sha256"]:
        raise ValueError("the text was altered")
    return text


def _lacks_thinking(thinking: Any, messages: Sequence[Item]) -> bool:
    """Tell whether thinking must be off: the model is in the middle of its calls, and did not think before them.

    So it is after a change of the model. The provider refuses a fixed thinking budget then.
    """
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return False
    last: list[Item] = next((m["content"] for m in reversed(messages) if m["role"] == "assistant"), [])
    awaited = messages[-1]["content"][0].get("type") == "tool_result"
    return awaited and bool(last) and last[0]["type"] not in ("thinking", "redacted_thinking")


def _mark(config: Item, system: list[Item], tools: list[Item], messages: list[Item]) -> None:
    """Mark the places up to which the provider shall cache: tools, system, and the last two inputs.

    The last input is where the next request goes on; the one before is where this one finds what was cached.
    """
    mark: Item = {"type": "ephemeral"}
    if "cacheTtl" in config:
        mark["ttl"] = config["cacheTtl"]
    inputs = [m["content"][-1] for m in messages if m["role"] == "user"]
    for place in [*tools[-1:], *system[-1:], *inputs[-2:]]:
        place["cache_control"] = mark
