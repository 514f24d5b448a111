"""The body of a responses request, from the neutral request alone.

Nothing is left with the provider (`store` is false): each request holds the whole conversation, and reasoning
comes back encrypted and goes back as it came. What the configuration may hold, besides `provider` and `model`:

| key | in the body |
|---|---|
| `maxTokens` | `max_output_tokens` |
| `reasoningEffort`, `reasoningSummary` | `reasoning.effort`, `reasoning.summary` |
| `verbosity` | `text.verbosity` |
| `temperature`, `topP`, `parallelToolCalls`, `promptCacheKey`, `serviceTier` | the same in snake case |
| `toolChoice` | `"auto"`, `"none"`, `"required"`, or `{name}` for one tool |
| `mediaBudget` | bytes of encoded images and files; see `everlog.llm.media` |
| `extra` | an object whose keys are laid over the body as they are |
| `dialect.developer` | the role of developer messages; `developer` when nothing is said |
| `dialect.encrypted` | false when the server knows no encrypted reasoning |
| `dialect.media` | false when the model cannot see images and files |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from everlog.llm.adapter import BlobReader
from everlog.llm.failure import BAD_REQUEST, ModelFailure
from everlog.llm.media import DEFAULT_BUDGET, Media, as_text, data_url, is_text
from everlog.llm.replay import Blocks, own_items
from everlog.llm.wireorder import Names, result_of, result_text, wire_order
from everlog.session.messages import Block, File, Image, Message, Text, ToolCall, ToolResult
from everlog.session.request import Request

NAME = "openai-responses"
OPTIONS = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxTokens": "max_output_tokens",
    "parallelToolCalls": "parallel_tool_calls",
    "promptCacheKey": "prompt_cache_key",
    "serviceTier": "service_tier",
}
"""Neutral option -> parameter of the protocol."""

_NAMES = Names(id_pattern=re.compile("[!-~]{1,64}"))
_OWN = ("model", "input", "tools", "stream", "store")


def responses_body(request: Request, blobs: BlobReader | None) -> bytes:
    """Give the body. Raises `ModelFailure` (`BAD_REQUEST`) for what the protocol cannot say."""
    config = request.config
    tools = request.tools
    dialect = config.get("dialect")
    dialect = dialect if isinstance(dialect, dict) else {}
    body: dict[str, Any] = {"model": request.model, "input": _input(request, config, dialect, tools, blobs)}
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    body.update((name, config[option]) for option, name in OPTIONS.items() if option in config)
    if tools and "toolChoice" in config:
        body["tool_choice"] = _tool_choice(config["toolChoice"])
    reasoning = {"effort": config.get("reasoningEffort"), "summary": config.get("reasoningSummary")}
    if any(value is not None for value in reasoning.values()):
        body["reasoning"] = {key: value for key, value in reasoning.items() if value is not None}
    if "verbosity" in config:
        body["text"] = {"verbosity": config["verbosity"]}
    if dialect.get("encrypted", True):
        body["include"] = ["reasoning.encrypted_content"]
    body.update(store=False, stream=True)
    body.update((name, value) for name, value in config.get("extra", {}).items() if name not in _OWN)
    return msgspec.json.encode(body)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "strict": False, **tool}


def _tool_choice(choice: Any) -> Any:
    return {"type": "function", "name": choice["name"]} if isinstance(choice, dict) else choice


def _input(
    request: Request,
    config: dict[str, Any],
    dialect: dict[str, Any],
    tools: Sequence[dict[str, Any]],
    blobs: BlobReader | None,
) -> list[dict[str, Any]]:
    ordered = wire_order(request.messages, {str(tool.get("name")) for tool in tools}, _NAMES)
    media = Media(ordered, blobs, config.get("mediaBudget", DEFAULT_BUDGET), dialect.get("media", True))
    writer = _Writer(request, dialect.get("developer", "developer"), media)
    written = [item for message in ordered for item in writer.write(message)]
    if not any(item.get("role") != "system" for item in written):
        raise ModelFailure("the request holds no message to answer", BAD_REQUEST)
    return written


class _Writer(msgspec.Struct):
    """Writes the items of one request."""

    request: Request
    developer: str
    media: Media

    def write(self, message: Message) -> Iterator[dict[str, Any]]:
        result = result_of(message)
        if result is not None:
            yield self._result(result)
        elif message.role == "assistant":
            yield from self._answer(message)
        else:
            role = self.developer if message.role == "developer" else message.role
            content = [part for block in message.content if (part := self._part(block)) is not None]
            if content:
                yield {"type": "message", "role": role, "content": content}

    def _answer(self, message: Message) -> Iterator[dict[str, Any]]:
        items = own_items(message, self.request, NAME)
        replayed = None if items is None else _replayed(items, message)
        if replayed is not None:
            yield from replayed
            return
        for block in message.content:
            if isinstance(block, Text):
                yield _said([block])
            elif isinstance(block, ToolCall):
                yield _call(block)

    def _part(self, block: Block) -> dict[str, Any] | None:
        match block:
            case Text():
                return {"type": "input_text", "text": block.text}
            case Image() | File():
                return self._medium(block)
            case _:
                return None

    def _medium(self, block: Image | File) -> dict[str, Any]:
        content = self.media.next_content(block)
        if isinstance(content, Text):
            return {"type": "input_text", "text": content.text}
        if is_text(block):
            return {"type": "input_text", "text": as_text(block, content)}
        if isinstance(block, Image):
            return {"type": "input_image", "detail": "auto", "image_url": data_url(block, content)}
        return {"type": "input_file", "filename": block.name or "file", "file_data": data_url(block, content)}

    def _result(self, result: ToolResult) -> dict[str, Any]:
        output: Any = result_text(result) or "(no text)"
        if any(isinstance(block, Image | File) for block in result.content):
            output = [part for block in result.content if (part := self._part(block)) is not None]
        return {"type": "function_call_output", "call_id": result.tool_call_id, "output": output}


def _said(texts: Sequence[Text]) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": block.text, "annotations": []} for block in texts]
    return {"type": "message", "role": "assistant", "content": parts}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _replayed(items: Sequence[dict[str, Any]], message: Message) -> list[dict[str, Any]] | None:
    """Give the items of an answer as the provider gave them, or None when the content does not fit them."""
    blocks = Blocks(message.content)
    blocks.drop_thoughts()
    written = []
    try:
        for item in items:
            match item.get("type"):
                case "reasoning":
                    written.append(item)
                case "message":
                    written.append(
                        {**_said(blocks.texts(int(item["parts"]))), **_besides(item, "id", "phase"), **_status(item)}
                    )
                case "function_call":
                    written.append({**_call(blocks.call()), **_besides(item, "id")})
                case _:
                    return None
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    return written if blocks.all_taken else None


def _status(item: dict[str, Any]) -> dict[str, Any]:
    """A message with an id is one that was complete; the protocol wants to be told so."""
    return {"status": "completed"} if "id" in item else {}


def _besides(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: item[name] for name in names if name in item}
