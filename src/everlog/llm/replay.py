"""Replay state: what a provider wants to see again of its own answers, beside their neutral content.

The state of a protocol is `{"protocol": NAME, "items": [...]}`: the skeleton of one answer, an entry for each
of its parts in the provider's order. An entry holds what the neutral blocks do not (signatures, encrypted
content, item ids); text and calls stay in the blocks, which the skeleton takes up in their order. Where the two
do not fit each other, the state is left out whole, and the neutral content goes in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from everlog.session.messages import Block, Message, ModelSource, Reasoning, Text, ToolCall
from everlog.session.request import Request


def state_of(protocol: str, items: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Give the replay state of an answer; None when it would hold nothing that the content does not."""
    if not any(len(item) > 1 for item in items):
        return None
    return {"protocol": protocol, "items": [dict(item) for item in items]}


def own_items(message: Message, request: Request, protocol: str) -> list[dict[str, Any]] | None:
    """Give the skeleton that this protocol kept with a message; None when it is another's, or there is none."""
    source = message.source
    if not isinstance(source, ModelSource):
        return None
    if (source.provider, source.model) != (request.provider, request.model):  # reasoning is for nobody else
        return None
    state = source.replay_state
    if not isinstance(state, dict) or state.get("protocol") != protocol:
        return None
    items = state.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    return items  # type: ignore[return-value]


B = TypeVar("B", bound=Block)


class Blocks:
    """The neutral blocks of an answer, to be taken up by a skeleton in their order, each kind by itself."""

    def __init__(self, content: Iterable[Block]) -> None:
        held = list(content)
        self._texts = [block for block in held if isinstance(block, Text)]
        self._thoughts = [block for block in held if isinstance(block, Reasoning)]
        self._calls = [block for block in held if isinstance(block, ToolCall)]

    def texts(self, count: int) -> list[Text]:
        """Take the next text blocks. Raises IndexError when there are fewer."""
        return _take(self._texts, count)

    def thought(self) -> Reasoning:
        """Take the next reasoning block. Raises IndexError when there is none."""
        return _take(self._thoughts, 1)[0]

    def call(self) -> ToolCall:
        """Take the next call. Raises IndexError when there is none."""
        return _take(self._calls, 1)[0]

    def drop_thoughts(self) -> None:
        """Leave the reasoning blocks alone: the skeleton holds what goes back of them."""
        self._thoughts.clear()

    @property
    def all_taken(self) -> bool:
        """Tell whether nothing is left."""
        return not (self._texts or self._thoughts or self._calls)


def _take(held: list[B], count: int) -> list[B]:
    if len(held) < count:
        raise IndexError("the skeleton wants more blocks than the answer has")
    taken, held[:] = held[:count], held[count:]
    return taken


def digest(text: str) -> str:
    """Give a digest by which signed text can be told from altered text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
