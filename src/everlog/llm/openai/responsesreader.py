"""Reads the events of a responses stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from everlog.llm import deltas
from everlog.llm.failure import PROTOCOL, TRANSPORT, ModelFailure
from everlog.llm.openai.responsesbody import NAME
from everlog.llm.replay import state_of
from everlog.session.payloads import Usage
from everlog.session.records import Delta

_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_PART = {"output_text": "text", "refusal": "text", "summary_text": "reasoning", "reasoning_text": "reasoning"}
_INCOMPLETE = {"max_output_tokens": deltas.MAX_TOKENS, "content_filter": deltas.CONTENT_FILTER}


class StreamRefused(Exception):
    """The stream told of an error; the adapter, which knows the endpoint, makes a failure of it."""

    def __init__(self, error: object) -> None:
        super().__init__(str(error))
        self.error = error


class _Item(msgspec.Struct):
    """An item of the answer while its pieces come: the blocks of its parts, and whether each had a character."""

    kind: str
    blocks: dict[str, int] = {}
    said: dict[int, bool] = {}
    entry: dict[str, Any] = {}


class ResponsesReader:
    """Turns events into deltas; `end` tells what is known when the stream is over."""

    def __init__(self) -> None:
        self._items: dict[object, _Item] = {}
        self._next = 0
        self._usage: Usage | None = None
        self._finish: tuple[str, str] | None = None

    def read(self, event: object) -> Iterator[Delta]:
        """Give the deltas of one event.

        Raises:
            ModelFailure: `PROTOCOL`; the event is not what the protocol says.
            StreamRefused: the event tells of an error.
        """
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise ModelFailure("the stream holds an event without a type", PROTOCOL)
        match event["type"]:
            case "response.output_item.added":
                yield from self._added(event)
            case kind if kind in _TEXT:
                yield from self._piece(event, "text", "content_index")
            case kind if kind in _THOUGHT:
                yield from self._piece(event, "reasoning", "summary_index" if "summary" in kind else "content_index")
            case "response.function_call_arguments.delta":
                yield from self._arguments(event)
            case "response.output_item.done":
                yield from self._done(event)
            case "response.completed" | "response.incomplete":
                self._ended(event)
            case "response.failed" | "error":
                response = event.get("response")
                raise StreamRefused(response.get("error") if isinstance(response, dict) else event.get("error", event))

    def end(self) -> Iterator[Delta]:
        """Give usage and finish.

        Raises:
            ModelFailure: `TRANSPORT`; the stream ended before the answer did.
        """
        if self._usage is not None:
            yield deltas.usage(self._usage)
        if self._finish is None:
            raise ModelFailure("the stream ended before the answer was complete", TRANSPORT)
        entries = [entry for item in self._items.values() if (entry := _entry(item)) is not None]
        yield deltas.finish(*self._finish, replay_state=state_of(NAME, entries))

    def _item(self, event: dict[str, Any], kind: str) -> _Item:
        said = event.get("item")
        item = said if isinstance(said, dict) else {}
        key = event.get("output_index", event.get("item_id", item.get("id")))
        if key not in self._items:
            self._items[key] = _Item(kind)
        return self._items[key]

    def _added(self, event: dict[str, Any]) -> Iterator[Delta]:
        said = event.get("item")
        item = said if isinstance(said, dict) else {}
        held = self._item(event, str(item.get("type")))
        if held.kind == "function_call":
            yield self._call(held, "", item)

    def _piece(self, event: dict[str, Any], kind: str, number: str) -> Iterator[Delta]:
        piece = event.get("delta")
        if isinstance(piece, str) and piece:
            held = self._item(event, "message" if kind == "text" else "reasoning")
            yield self._text(held, kind, f"{number} {event.get(number, 0)}", piece)

    def _arguments(self, event: dict[str, Any]) -> Iterator[Delta]:
        piece = event.get("delta")
        if isinstance(piece, str) and piece:
            yield self._call(self._item(event, "function_call"), piece, {})

    def _done(self, event: dict[str, Any]) -> Iterator[Delta]:
        """Take in the item as it is at its end; give what of it no delta gave before."""
        item = event.get("item")
        if not isinstance(item, dict):
            return
        held = self._item(event, str(item.get("type")))
        held.entry = item
        if held.kind == "function_call":
            arguments = item.get("arguments")
            whole = arguments if isinstance(arguments, str) and not any(held.said.values()) else ""
            yield self._call(held, whole, item)
        elif not held.blocks:
            for at, (kind, text) in enumerate(_parts(item)):
                yield self._text(held, kind, str(at), text)
        yield from (deltas.block_end(block) for block in held.blocks.values())

    def _text(self, held: _Item, kind: str, part: str, piece: str) -> Delta:
        index = self._block(held, part)
        held.said[index] = True
        return deltas.text(index, piece) if kind == "text" else deltas.reasoning(index, piece)

    def _call(self, held: _Item, piece: str, item: dict[str, Any]) -> Delta:
        index = self._block(held, "")
        held.said[index] = held.said.get(index, False) or bool(piece)
        id, name = item.get("call_id"), item.get("name")
        return deltas.call(index, piece, id if isinstance(id, str) else None, name if isinstance(name, str) else None)

    def _block(self, held: _Item, part: str) -> int:
        if part not in held.blocks:
            held.blocks[part] = self._next
            self._next += 1
        return held.blocks[part]

    def _ended(self, event: dict[str, Any]) -> None:
        response = event.get("response")
        response = response if isinstance(response, dict) else {}
        self._usage = responses_usage(response.get("usage"))
        details = response.get("incomplete_details")
        reason = str(details.get("reason")) if isinstance(details, dict) else ""
        if event["type"] == "response.incomplete":
            self._finish = (_INCOMPLETE.get(reason, deltas.OTHER), reason or "incomplete")
        else:
            calls = any(item.kind == "function_call" for item in self._items.values())
            self._finish = (deltas.TOOL_CALLS if calls else deltas.STOP, "completed")


def _parts(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the parts of a finished item as (kind, text)."""
    for name in ("summary", "content"):
        for part in item.get(name) or ():
            if isinstance(part, dict) and part.get("type") in _PART:
                text = part.get("text", part.get("refusal"))
                if isinstance(text, str) and text:
                    yield _PART[part["type"]], text


def _entry(held: _Item) -> dict[str, Any] | None:
    """Give the entry of the skeleton for an item; None for one that goes back without it."""
    item = held.entry
    match held.kind:
        case "reasoning":
            kept = {key: value for key, value in item.items() if key != "status"}
            return kept if kept.get("encrypted_content") else None
        case "message":
            kept = {key: item[key] for key in ("id", "phase") if item.get(key) is not None}
            parts = sum(held.said.values())
            return {"type": "message", **kept, "parts": parts} if parts else None
        case "function_call":
            return {"type": "function_call", **({"id": item["id"]} if isinstance(item.get("id"), str) else {})}
        case _:
            return None


def responses_usage(said: object) -> Usage | None:
    """Give the four disjoint kinds of tokens of a provider's count, in which the input includes what was cached."""
    if not isinstance(said, dict) or not isinstance(said.get("input_tokens"), int):
        return None
    details = said.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    output = said.get("output_tokens_details")
    output = output if isinstance(output, dict) else {}
    reads, writes = _count(details.get("cached_tokens")), _count(details.get("cache_write_tokens"))
    return Usage(
        input_tokens=max(0, said["input_tokens"] - reads - writes),
        output_tokens=_count(said.get("output_tokens")),
        cache_read_tokens=reads,
        cache_write_tokens=writes,
        reasoning_tokens=_count(output.get("reasoning_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
