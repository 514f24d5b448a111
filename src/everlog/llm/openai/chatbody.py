"""The body of a chat completions request, from the neutral request alone.

What the configuration may hold, besides `provider` and `model`:

| key | in the body |
|---|---|
| `maxTokens` | `max_completion_tokens`, or what `dialect.maxTokens` names |
| `reasoningEffort`, `temperature`, `topP`, `seed`, `stop`, … | the same in snake case |
| `toolChoice` | `"auto"`, `"none"`, `"required"`, or `{name}` for one tool |
| `includeUsage` | `stream_options.include_usage`; true unless it says false |
| `mediaBudget` | bytes of encoded images and files; see `everlog.llm.media` |
| `extra` | an object whose keys are laid over the body as they are |
| `dialect.developer` | the role of developer messages: `developer`, `system` or `user` |
| `dialect.reasoning` | the field in which reasoning goes back; none unless it is named |
| `dialect.reasoningDetails` | true when signed reasoning goes back in its place as `reasoning_details` |
| `dialect.replay` | of which answers: `turn`, since the last input, or `all` |
| `dialect.callIdLength` | the exact length of call ids, letters and digits only |
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
from everlog.llm.replay import digest, own_items
from everlog.llm.wireorder import Names, result_of, result_text, wire_order
from everlog.session.messages import (
    Block,
    File,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from everlog.session.request import Request

NAME = "openai-chat"
OPTIONS = {
    "reasoningEffort": "reasoning_effort",
    "verbosity": "verbosity",
    "temperature": "temperature",
    "topP": "top_p",
    "seed": "seed",
    "stop": "stop",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "parallelToolCalls": "parallel_tool_calls",
    "promptCacheKey": "prompt_cache_key",
    "serviceTier": "service_tier",
}
"""Neutral option -> parameter of the protocol."""

_OWN = ("model", "messages", "tools", "stream")


def chat_body(request: Request, blobs: BlobReader | None) -> bytes:
    """Give the body. Raises `ModelFailure` (`BAD_REQUEST`) for what the protocol cannot say."""
    config = request.config
    tools = request.tools
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request, config, tools, blobs)}
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    body.update((name, config[option]) for option, name in OPTIONS.items() if option in config)
    if "maxTokens" in config:
        body[_dialect(config).get("maxTokens", "max_completion_tokens")] = config["maxTokens"]
    if tools and "toolChoice" in config:
        body["tool_choice"] = _tool_choice(config["toolChoice"])
    body["stream"] = True
    if config.get("includeUsage", True):
        body["stream_options"] = {"include_usage": True}
    body.update((name, value) for name, value in config.get("extra", {}).items() if name not in _OWN)
    return msgspec.json.encode(body)


def _dialect(config: dict[str, Any]) -> dict[str, Any]:
    found = config.get("dialect")
    return found if isinstance(found, dict) else {}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": tool}


def _tool_choice(choice: Any) -> Any:
    return {"type": "function", "function": {"name": choice["name"]}} if isinstance(choice, dict) else choice


def _messages(
    request: Request, config: dict[str, Any], tools: Sequence[dict[str, Any]], blobs: BlobReader | None
) -> list[dict[str, Any]]:
    dialect = _dialect(config)
    ordered = wire_order(request.messages, {str(tool.get("name")) for tool in tools}, _names(dialect))
    writer = _Writer(
        request=request,
        developer=dialect.get("developer", "developer"),
        reasoning=dialect.get("reasoning"),
        details=dialect.get("reasoningDetails") is True,
        replay_from=0 if dialect.get("replay") == "all" else _last_input(ordered),
        media=Media(ordered, blobs, config.get("mediaBudget", DEFAULT_BUDGET), dialect.get("media", True)),
    )
    written = list(writer.write(ordered))
    if not any(message["role"] != "system" for message in written):
        raise ModelFailure("the request holds no message to answer", BAD_REQUEST)
    return written


def _names(dialect: dict[str, Any]) -> Names:
    length = dialect.get("callIdLength")
    if isinstance(length, int):
        return Names(id_pattern=re.compile(f"[A-Za-z0-9]{{{length}}}"), id_prefix="", id_length=length)
    return Names(id_pattern=re.compile("[!-~]{1,40}"))


def _last_input(messages: Sequence[Message]) -> int:
    """Give the index of the last message that is an input and no result."""
    inputs = (at for at, m in enumerate(messages) if m.role == "user" and result_of(m) is None)
    return max(inputs, default=0)


class _Writer(msgspec.Struct):
    """Writes the messages of one request."""

    request: Request
    developer: str
    reasoning: str | None
    details: bool
    replay_from: int
    media: Media

    def write(self, messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
        # What a result shows besides text follows as an input, since a tool message holds text only; but behind
        # all results of the answer, which must not be parted.
        shown: list[dict[str, Any]] = []
        for at, message in enumerate(messages):
            result = result_of(message)
            if result is not None:
                yield {
                    "role": "tool",
                    "tool_call_id": result.tool_call_id,
                    "content": _result(result),
                }
                shown += self._shown(result)
                continue
            if shown:
                yield {"role": "user", "content": shown}
                shown = []
            if message.role == "assistant":
                yield from self._answer(message, at >= self.replay_from)
            else:
                role = self.developer if message.role == "developer" else message.role
                yield {"role": role, "content": self._content(message.content)}
        if shown:
            yield {"role": "user", "content": shown}

    def _answer(self, message: Message, is_recent: bool) -> Iterator[dict[str, Any]]:
        written: dict[str, Any] = {"role": "assistant"}
        text = "".join(block.text for block in message.content if isinstance(block, Text))
        if text:
            written["content"] = text
        if is_recent:
            written |= self._reasoned(message)
        if message.calls:
            written["tool_calls"] = [_call(call) for call in message.calls]
        if text or message.calls:
            yield written

    def _reasoned(self, message: Message) -> dict[str, Any]:
        """Give the reasoning of a complete answer of the model that is asked, if it is what that model wrote."""
        items = own_items(message, self.request, NAME) or []
        thought = "".join(block.text for block in message.content if isinstance(block, Reasoning))
        vouched = next((item for item in items if item.get("sha256") == digest(thought)), None)
        if vouched is None:
            return {}
        if self.details and vouched.get("details"):
            return {"reasoning_details": vouched["details"]}
        return {self.reasoning: thought} if self.reasoning and thought else {}

    def _content(self, blocks: Sequence[Block]) -> str | list[dict[str, Any]]:
        if all(isinstance(block, Text) for block in blocks):
            return "\n\n".join(block.text for block in blocks if isinstance(block, Text))
        return [part for block in blocks if (part := self._part(block)) is not None]

    def _part(self, block: Block) -> dict[str, Any] | None:
        match block:
            case Text():
                return {"type": "text", "text": block.text}
            case Image() | File():
                return self._medium(block)
            case _:
                return None

    def _medium(self, block: Image | File) -> dict[str, Any]:
        content = self.media.next_content(block)
        if isinstance(content, Text):
            return {"type": "text", "text": content.text}
        if is_text(block):
            return {"type": "text", "text": as_text(block, content)}
        url = data_url(block, content)
        if isinstance(block, Image):
            return {"type": "image_url", "image_url": {"url": url}}
        return {"type": "file", "file": {"filename": block.name or "file", "file_data": url}}

    def _shown(self, result: ToolResult) -> list[dict[str, Any]]:
        media = [block for block in result.content if isinstance(block, Image | File)]
        if not media:
            return []
        label = {"type": "text", "text": f"[Shown by the result of call {result.tool_call_id}]"}
        return [label, *(self._medium(block) for block in media)]


def _result(result: ToolResult) -> str:
    return result_text(result) or "(no text)"


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
