"""Reads the events of a chat completions stream, of OpenAI and of the many servers that nearly speak the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from everlog.llm import deltas
from everlog.llm.failure import PROTOCOL, TRANSPORT, ModelFailure
from everlog.llm.openai.chatbody import NAME
from everlog.llm.openai.details import Details
from everlog.llm.replay import digest, state_of
from everlog.session.payloads import Usage
from everlog.session.records import Delta

FINISH = {
    "stop": deltas.STOP,
    "tool_calls": deltas.TOOL_CALLS,
    "function_call": deltas.TOOL_CALLS,
    "length": deltas.MAX_TOKENS,
    "content_filter": deltas.CONTENT_FILTER,
}
_THOUGHTS = ("reasoning_content", "reasoning")


class _Call(msgspec.Struct):
    """A call while its pieces come: its block, and the number and id that the provider gave it."""

    block: int
    index: object
    id: str


class ChatReader:
    """Turns events into deltas; `end` tells what is known when the stream is over.

    A block gets its index when its first piece comes. Text or reasoning that goes on after something else is a
    new block, so that the order of what was said is kept.
    """

    def __init__(self) -> None:
        self._next = 0
        self._open: tuple[str, int] | None = None
        self._calls: list[_Call] = []
        self._thoughts: list[str] = []
        self._details = Details()
        self._usage: Usage | None = None
        self._reason: str | None = None

    def read(self, event: object) -> Iterator[Delta]:
        """Give the deltas of one event.

        Raises:
            ModelFailure: `PROTOCOL`; the event is not what the protocol says.
        """
        if not isinstance(event, dict):
            raise ModelFailure(f"the stream holds {type(event).__name__} where an object should be", PROTOCOL)
        self._usage = chat_usage(event.get("usage")) or self._usage
        for choice in _objects(event.get("choices"))[:1]:
            yield from self._delta(choice.get("delta") or {})
            self._reason = choice.get("finish_reason") or self._reason

    def end(self) -> Iterator[Delta]:
        """Give usage and finish.

        Raises:
            ModelFailure: `TRANSPORT`; the stream ended before the answer did.
        """
        if self._usage is not None:
            yield deltas.usage(self._usage)
        if self._reason is None:
            raise ModelFailure("the stream ended before the answer was complete", TRANSPORT)
        reason = FINISH.get(self._reason, deltas.OTHER)
        if reason == deltas.STOP and self._calls:
            reason = deltas.TOOL_CALLS  # some servers say "stop" after calls, too
        yield deltas.finish(reason, self._reason, self._replay_state())

    def _replay_state(self) -> dict[str, Any] | None:
        """Vouch for the reasoning of an answer that came to its end: no other goes back."""
        details = self._details.sealed
        if not self._thoughts and not details:
            return None
        vouched: dict[str, Any] = {"type": "reasoning", "sha256": digest("".join(self._thoughts))}
        return state_of(NAME, [vouched | ({"details": details} if details else {})])

    def _delta(self, delta: Any) -> Iterator[Delta]:
        if not isinstance(delta, dict):
            raise ModelFailure("the stream holds a delta that is no object", PROTOCOL)
        thought = next((delta[name] for name in _THOUGHTS if isinstance(delta.get(name), str)), "")
        if thought:
            yield self._thought(thought)
        for piece in _objects(delta.get("reasoning_details")):
            self._details.add(piece)
        yield from self._content(delta.get("content"))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            yield deltas.text(self._index("text"), refusal)
        for call in _objects(delta.get("tool_calls")):
            yield from self._call(call)

    def _content(self, content: object) -> Iterator[Delta]:
        if isinstance(content, str) and content:
            yield deltas.text(self._index("text"), content)
        for part in _objects(content):  # servers that give content in parts, thinking among them
            if isinstance(text := part.get("text"), str) and text:
                yield deltas.text(self._index("text"), text)
            for inner in _objects(part.get("thinking")):
                if isinstance(thought := inner.get("text"), str) and thought:
                    yield self._thought(thought)

    def _thought(self, piece: str) -> Delta:
        self._thoughts.append(piece)
        return deltas.reasoning(self._index("reasoning"), piece)

    def _call(self, call: dict[str, Any]) -> Iterator[Delta]:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        id, name = _text(call.get("id")), _text(function.get("name"))
        known = self._call_of(call.get("index"), id, name)
        if known is None:
            known = _Call(self._take_index(), call.get("index"), id)
            self._calls.append(known)
        piece = _text(function.get("arguments"))
        if piece or id or name:
            yield deltas.call(known.block, piece, id or None, name or None)

    def _call_of(self, index: object, id: str, name: str) -> _Call | None:
        """Give the call that a piece belongs to, or None for a new one.

        The protocol numbers them. Some servers leave the number out, and some give every call the same.
        """
        if isinstance(index, int):
            same = [call for call in self._calls if call.index == index]
        else:
            same = [] if name and not id else self._calls
        if not id:
            return same[-1] if same else None
        return next((call for call in reversed(same) if call.id == id or (not call.id and index is not None)), None)

    def _index(self, kind: str) -> int:
        if self._open is None or self._open[0] != kind:
            self._open = (kind, self._take_index())
        return self._open[1]

    def _take_index(self) -> int:
        index, self._next, self._open = self._next, self._next + 1, None
        return index


def chat_usage(said: object) -> Usage | None:
    """Give the four disjoint kinds of tokens of a provider's count, in which the input includes what was cached."""
    if not isinstance(said, dict) or not isinstance(said.get("prompt_tokens"), int):
        return None
    details = said.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    output = said.get("completion_tokens_details")
    output = output if isinstance(output, dict) else {}
    reads = _count(details.get("cached_tokens", said.get("prompt_cache_hit_tokens")))
    writes = _count(details.get("cache_write_tokens"))
    return Usage(
        input_tokens=max(0, said["prompt_tokens"] - reads - writes),
        output_tokens=_count(said.get("completion_tokens")),
        cache_read_tokens=reads,
        cache_write_tokens=writes,
        reasoning_tokens=_count(output.get("reasoning_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
