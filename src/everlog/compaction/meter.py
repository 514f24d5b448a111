"""The token meter: a projection that tells how many tokens the model sees, node by node.

The sum is anchored on what the provider counted for the last request, and estimated beyond it. A rewrite of
the surface takes the anchor away, but not what it taught: how far the estimate was off is kept as a factor.

The estimate is linear in what the texts are made of, so the fold keeps sums of counts: telling the total costs
the same however many nodes there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

from everlog.compaction.estimator import Counts, counts_of, family_of, tokens_of
from everlog.session.event import Event
from everlog.session.jsonvalue import decode_or_text
from everlog.session.log import Log
from everlog.session.messagelist import message_of
from everlog.session.messages import Block, File, Image, Message, Reasoning, Text, ToolCall, ToolResult
from everlog.session.payloads import AssistantMessage, RequestHeaderEvent, Usage
from everlog.session.projections.surface import SurfaceProjection, advance

MeterState: TypeAlias = "dict[str, Any]"

_PER_MESSAGE = 4
"""Tokens that a provider spends on the frame of a message: its role and the marks around it."""

_PER_IMAGE = 1_200
"""Tokens of an image of ordinary size; providers count by area, which the log does not hold."""

_LEAST, _MOST = 0.5, 2.0
"""The factor is kept within these: a provider that counts otherwise altogether must not turn estimates into noise."""

_WIDTH = len(counts_of("")) + 1
"""Counts of a node: what its texts are made of, and last the tokens of its frame and images."""


class Meter:
    """What the model sees, in tokens, at one seq; it stays as it is when the log goes on.

    Attributes:
        total: the tokens of the request that would go out now.
        overhead: those of them that are not messages: the tools.
        anchored: how many of the leading nodes the provider's own count covers; 0 when all is estimated.
        factor: by how much the provider counts more than the estimator does.
        family: the family of tokenizers that is estimated with.
    """

    def __init__(self, state: MeterState) -> None:
        self._nodes: list[int] = state["surface"]["nodes"]
        self._length = len(self._nodes)
        self._counts: dict[str, Counts] = state["counts"]
        self.family: str = state["family"]
        self.factor: float = state["factor"]
        self.overhead = round(tokens_of(state["tools"], self.family) * self.factor)
        anchor = state["anchor"]
        self.anchored: int = 0 if anchor is None else anchor[0]
        beyond = self._estimate(state["sums"] if anchor is None else _less(state["sums"], anchor[2]))
        self.total: int = beyond + (self.overhead if anchor is None else anchor[1])

    def _estimate(self, counts: Counts) -> int:
        return round((tokens_of(counts[:-1], self.family) + counts[-1]) * self.factor)

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Give the surface's seqs in order."""
        return tuple(self._nodes[: self._length])

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """Give the estimated tokens of each node, in the same order."""
        return tuple(self._estimate(self._counts[str(seq)]) for seq in self.nodes)

    def of(self, seq: int) -> int:
        """Give the tokens of one node. Raises ValueError when the seq is none."""
        return self.tokens[self.nodes.index(seq)]

    def of_message(self, message: Message) -> int:
        """Give the tokens that a message has, on the surface or not."""
        return self._estimate(_message_counts(message))

    def of_text(self, text: str) -> int:
        """Give the tokens that a message with this text would have."""
        return self._estimate([*counts_of(text), _PER_MESSAGE])

    def __repr__(self) -> str:
        return f"<Meter: {self.total} tokens in {self._length} nodes>"


class MeterProjection:
    """Keeps the counts of each node, their sum, and the last anchor.

    An anchor is `[nodes covered, tokens that the provider counted, sum of the counts of those nodes]`. Lists and
    tables that a view holds are never changed in place but at their tail.
    """

    name = "tokens"
    version = 2

    def __init__(self) -> None:
        self._surface = SurfaceProjection()

    def init(self) -> MeterState:
        """Give the state of the empty log."""
        return {
            "surface": self._surface.init(),
            "counts": {},
            "sums": [0] * _WIDTH,
            "tools": [0] * (_WIDTH - 1),
            "model": "",
            "family": family_of(""),
            "asked": None,
            "anchor": None,
            "factor": 1.0,
        }

    def apply(self, state: MeterState, event: Event) -> None:
        """Take in a node, a header, or what a provider counted."""
        if event.surface_op is not None:
            _take_node(state, event)
        if event.type == "request/header":
            _take_header(state, event)
        elif event.type == "request/sent":
            surface = state["surface"]
            state["asked"] = [len(surface["nodes"]), surface["generation"], state["sums"]]
        elif event.type == "assistant/message":
            _take_usage(state, event)

    def view(self, state: MeterState, log: Log) -> Meter:
        """Give the meter."""
        return Meter(state)


def _take_node(state: MeterState, event: Event) -> None:
    surface = state["surface"]
    generation = surface["generation"]
    shadowed = advance(surface, event)
    counts = _message_counts(message_of(event))
    state["sums"] = _plus(state["sums"], counts)
    if surface["generation"] == generation:
        state["counts"][str(event.seq)] = counts
        return
    state["anchor"] = None
    gone = set(map(str, shadowed))
    for seq in gone:
        state["sums"] = _less(state["sums"], state["counts"][seq])
    state["counts"] = {seq: held for seq, held in state["counts"].items() if seq not in gone} | {str(event.seq): counts}


def _take_header(state: MeterState, event: Event) -> None:
    """Another model counts otherwise, and other tools are other tokens: what was counted before says nothing then."""
    data = event.data
    if not isinstance(data, RequestHeaderEvent):
        return
    config = decode_or_text(bytes(data.header.config_json))
    model = str(config.get("model", "")) if isinstance(config, dict) else ""
    if model != state["model"]:
        state.update(model=model, family=family_of(model), anchor=None, factor=1.0)
    tools = counts_of(bytes(data.header.tools_json).decode("utf-8", "replace") if data.header.tools_json else "")
    if tools != state["tools"]:
        state.update(tools=tools, anchor=None)


def _take_usage(state: MeterState, event: Event) -> None:
    """Anchor on what the provider counted for the request that this answers."""
    data, asked = event.data, state["asked"]
    state["asked"] = None
    if not isinstance(data, AssistantMessage) or data.usage is None or asked is None:
        return
    covered, generation, sums = asked
    counted = _input(data.usage)
    if counted <= 0 or not covered or generation != state["surface"]["generation"]:
        return
    estimated = tokens_of(state["tools"], state["family"]) + tokens_of(sums[:-1], state["family"]) + sums[-1]
    state["factor"] = min(_MOST, max(_LEAST, counted / estimated)) if estimated else 1.0
    state["anchor"] = [covered, counted, sums]


def _input(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def _plus(a: Counts, b: Counts) -> Counts:
    return [x + y for x, y in zip(a, b, strict=True)]


def _less(a: Counts, b: Counts) -> Counts:
    return [x - y for x, y in zip(a, b, strict=True)]


def _message_counts(message: Message | None) -> Counts:
    if message is None:
        return [0] * _WIDTH
    texts: list[str] = []
    images = _collect(message.content, texts)
    return [*counts_of("\n".join(texts)), _PER_MESSAGE + images * _PER_IMAGE]


def _collect(blocks: Sequence[Block], texts: list[str]) -> int:
    """Add the texts of blocks, and give how many images they hold."""
    images = 0
    for block in blocks:
        match block:
            case Text() | Reasoning():
                texts.append(block.text)
            case ToolCall():
                texts.append(f"{block.name} {block.arguments}")
            case ToolResult():
                images += _collect(block.content, texts)
            case Image() | File():
                images += 1
            case _:
                texts.append(block.to_json().decode("utf-8", "replace"))
    return images


PROJECTION = MeterProjection()
