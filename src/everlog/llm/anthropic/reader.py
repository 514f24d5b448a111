"""Reads the events of a messages stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from everlog.llm import deltas
from everlog.llm.anthropic.body import NAME
from everlog.llm.failure import PROTOCOL, TRANSPORT, ModelFailure
from everlog.llm.replay import digest, state_of
from everlog.session.payloads import Usage
from everlog.session.records import Delta

FINISH = {
    "end_turn": deltas.STOP,
    "stop_sequence": deltas.STOP,
    "tool_use": deltas.TOOL_CALLS,
    "max_tokens": deltas.MAX_TOKENS,
    "model_context_window_exceeded": deltas.MAX_TOKENS,
    "refusal": deltas.CONTENT_FILTER,
}


class _Part(msgspec.Struct):
    """A block of the answer while its pieces come."""

    kind: str
    text: list[str] = []
    signature: list[str] = []
    data: str = ""


class MessagesReader:
    """Turns events into deltas; `end` tells what is known when the stream is over."""

    def __init__(self) -> None:
        self._parts: dict[int, _Part] = {}
        self._counts: dict[str, int] = {}
        self._reason: str | None = None
        self._stopped = False

    def read(self, event: object) -> Iterator[Delta]:
        """Give the deltas of one event.

        Raises:
            ModelFailure: `PROTOCOL`; the event is not what the protocol says.
        """
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise ModelFailure("the stream holds an event without a type", PROTOCOL)
        match event["type"]:
            case "message_start":
                self._count(_object(event.get("message")).get("usage"))
            case "content_block_start":
                yield from self._started(_index(event), _object(event.get("content_block")))
            case "content_block_delta":
                yield from self._piece(_index(event), _object(event.get("delta")))
            case "content_block_stop":
                yield deltas.block_end(_index(event))
            case "message_delta":
                self._count(event.get("usage"))
                self._reason = _string(_object(event.get("delta")).get("stop_reason")) or self._reason
            case "message_stop":
                self._stopped = True

    def end(self) -> Iterator[Delta]:
        """Give usage and finish.

        Raises:
            ModelFailure: `TRANSPORT`; the stream ended before the answer did.
        """
        if self._counts:
            yield deltas.usage(self._usage())
        if self._reason is None or not self._stopped:
            raise ModelFailure("the stream ended before the answer was complete", TRANSPORT)
        items = [item for _, part in sorted(self._parts.items()) if (item := _item(part)) is not None]
        yield deltas.finish(FINISH.get(self._reason, deltas.OTHER), self._reason, state_of(NAME, items))

    def _started(self, index: int, block: dict[str, Any]) -> Iterator[Delta]:
        part = self._parts[index] = _Part(_string(block.get("type")))
        match part.kind:
            case "text":
                yield from self._grow(index, part, _string(block.get("text")))
            case "thinking":
                part.signature = [_string(block.get("signature"))]
                yield from self._grow(index, part, _string(block.get("thinking")))
            case "redacted_thinking":
                part.data = _string(block.get("data"))
            case "tool_use":
                given = block.get("input")
                whole = msgspec.json.encode(given).decode() if given else ""
                part.text.append(whole)
                yield deltas.call(index, whole, _string(block.get("id")), _string(block.get("name")))

    def _piece(self, index: int, delta: dict[str, Any]) -> Iterator[Delta]:
        part = self._parts.get(index)
        if part is None:
            raise ModelFailure(f"the stream goes on with block {index}, which it never began", PROTOCOL)
        match delta.get("type"):
            case "text_delta":
                yield from self._grow(index, part, _string(delta.get("text")))
            case "thinking_delta":
                yield from self._grow(index, part, _string(delta.get("thinking")))
            case "signature_delta":
                part.signature.append(_string(delta.get("signature")))
            case "input_json_delta":
                if piece := _string(delta.get("partial_json")):
                    yield deltas.call(index, piece)

    def _grow(self, index: int, part: _Part, piece: str) -> Iterator[Delta]:
        if piece:
            part.text.append(piece)
            yield deltas.text(index, piece) if part.kind == "text" else deltas.reasoning(index, piece)

    def _count(self, said: object) -> None:
        """Take in a count; those that come later replace what came before."""
        if not isinstance(said, dict):
            return
        details = said.get("output_tokens_details")
        flat = {**said, **(details if isinstance(details, dict) else {})}
        self._counts.update((k, v) for k, v in flat.items() if isinstance(v, int) and not isinstance(v, bool))

    def _usage(self) -> Usage:
        counts = self._counts
        return Usage(
            input_tokens=counts.get("input_tokens", 0),
            output_tokens=counts.get("output_tokens", 0),
            cache_read_tokens=counts.get("cache_read_input_tokens", 0),
            cache_write_tokens=counts.get("cache_creation_input_tokens", 0),
            reasoning_tokens=counts.get("thinking_tokens", 0),
        )


def _item(part: _Part) -> dict[str, Any] | None:
    """Give the entry of the skeleton for a block; None for one that leaves nothing to send back."""
    text, signature = "".join(part.text), "".join(part.signature)
    match part.kind:
        case "text":
            return {"type": "text"} if text else None
        case "tool_use":
            return {"type": "tool_use"}
        case "thinking" if signature:
            empty = {} if text else {"empty": True}
            return {"type": "thinking", "signature": signature, "sha256": digest(text), **empty}
        case "redacted_thinking":
            return {"type": "redacted_thinking", "data": part.data}
        case _:
            return None


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise ModelFailure("the stream holds a block without a number", PROTOCOL)
    return index


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
