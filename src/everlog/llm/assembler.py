"""Builds one answer of the deltas that a stream gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any

import msgspec

from everlog.llm.deltas import CONTENT_FILTER, MAX_TOKENS
from everlog.llm.failure import CONTENT_FILTER as CODE_FILTERED
from everlog.llm.failure import EMPTY_RESPONSE, ModelFailure
from everlog.session.messages import Block, Message, Reasoning, Text, ToolCall, model_source, new_id
from everlog.session.payloads import Usage
from everlog.session.records import Delta


class _Growing(msgspec.Struct):
    """A block while its pieces come."""

    kind: str
    parts: list[str] = msgspec.field(default_factory=list)
    id: str = ""
    name: str = ""


class Assembler:
    """Takes deltas in, in their order, and gives the message that they make.

    A block is what shares an index and a kind; blocks stand in the order of their first piece. Text and
    reasoning without a character are left out. A call whose id is missing, or was used earlier in the same
    answer, gets one that is unique in it; the same deltas always give the same ids. The deltas' text holds no
    lone surrogates: what a route gives went through `everlog.llm.guard`.
    """

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._blocks: dict[tuple[int, str], _Growing] = {}
        self._replay_state: Any = None
        self._usage: Usage | None = None
        self._finish_reason: str | None = None

    @property
    def usage(self) -> Usage | None:
        """Give the tokens as the provider told them last, or None."""
        return self._usage

    @property
    def finish_reason(self) -> str | None:
        """Give why the answer ended (see `everlog.llm.deltas`), or None while it goes on."""
        return self._finish_reason

    def add(self, delta: Delta) -> None:
        """Take in the next delta."""
        match delta.kind:
            case "text" | "reasoning" | "tool-call":
                self._grow(delta)
            case "usage":
                self._usage = _usage(delta.record or {})
            case "finish":
                record = delta.record or {}
                self._finish_reason = str(record.get("reason", "other"))
                self._replay_state = record.get("replayState")

    def _grow(self, delta: Delta) -> None:
        block = self._blocks.setdefault((delta.index, delta.kind), _Growing(delta.kind))
        block.parts.append(delta.text)
        block.id = block.id or delta.id or ""
        block.name = block.name or delta.name or ""

    def blocks(self) -> tuple[Block, ...]:
        """Give the content so far."""
        grown = [block for block in self._blocks.values() if block.kind == "tool-call" or any(block.parts)]
        ids = iter(_unique(block.id for block in grown if block.kind == "tool-call"))
        return tuple(_block(block, ids) for block in grown)

    def message(self, id: str | None = None) -> Message:
        """Give the answer, with a fresh id unless one is given.

        An answer that the output ceiling cut may hold reasoning only, or nothing.

        Raises:
            ModelFailure: `EMPTY_RESPONSE`, there is neither text nor a call in it; `CONTENT_FILTER`, the provider
                kept it back.
        """
        content = self.blocks()
        if not any(isinstance(block, Text | ToolCall) for block in content) and self._finish_reason != MAX_TOKENS:
            raise self._nothing(content)
        source = model_source(self._provider, self._model, self._replay_state)
        return Message(id=id or new_id(), role="assistant", content=content, source=source)

    def _nothing(self, content: tuple[Block, ...]) -> ModelFailure:
        name = f"{self._provider}/{self._model}"
        if self._finish_reason == CONTENT_FILTER:
            return ModelFailure(f"{name} refused to answer: the provider filtered the content", CODE_FILTERED)
        said = "only thought, and said nothing" if content else "gave an empty answer"
        return ModelFailure(f"{name} {said}", EMPTY_RESPONSE)


def _block(block: _Growing, ids: Iterator[str]) -> Block:
    joined = "".join(block.parts)
    match block.kind:
        case "text":
            return Text(text=joined)
        case "reasoning":
            return Reasoning(text=joined)
        case _:
            return ToolCall(id=next(ids), name=block.name, arguments=joined)


def _unique(ids: Iterable[str]) -> list[str]:
    """Give the ids with missing and repeated ones made unique; the first use of an id is never changed."""
    wanted = list(ids)
    given, used = set(wanted), set[str]()
    for at, id in enumerate(wanted):
        if not id or id in used:
            base = id or f"call_{at}"
            candidates = chain([base], (f"{base}_{n}" for n in count(2)))
            wanted[at] = next(name for name in candidates if name not in given and name not in used)
        used.add(wanted[at])
    return wanted


def _usage(record: dict[str, Any]) -> Usage | None:
    try:
        return msgspec.convert(record.get("usage"), Usage)
    except msgspec.ValidationError:
        return None
