"""The token meter: a projection that tells how many tokens the model sees, node by node.

The sum is anchored on what the provider counted for the last request, and estimated beyond it. A rewrite of
the surface takes the anchor away, but not what it taught: how far the estimate was off is kept as a factor.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from everlog.compaction.estimator import counts_of, family_of, tokens_of
from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.messagelist import message_of
from everlog.session.messages import Block, File, Image, Message, Reasoning, Text, ToolCall, ToolResult
from everlog.session.payloads import AssistantMessage, RequestHeaderEvent, Usage
from everlog.session.projections.surface import SurfaceProjection, SurfaceState, surface_of

MeterState: TypeAlias = "dict[str, Any]"

_PER_MESSAGE = 4
"""Tokens that a provider spends on the frame of a message: its role and the marks around it."""

_PER_IMAGE = 1_200
"""Tokens of an image of ordinary size; providers count by area, which the log does not hold."""

_LEAST, _MOST = 0.5, 2.0
"""The factor is kept within these: a provider that counts otherwise altogether must not turn estimates into noise."""


class Meter:
    """What the model sees, in tokens, at one seq.

    Attributes:
        nodes: the surface's seqs in order.
        tokens: the tokens of each, in the same order; the sum of all but `overhead`.
        overhead: what is not messages: the tools, and what the provider adds.
        anchored: how many of the leading nodes the provider's own count covers.
    """

    def __init__(self, nodes: tuple[int, ...], tokens: list[int], overhead: int, anchored: int, total: int) -> None:
        self.nodes = nodes
        self.tokens = tokens
        self.overhead = overhead
        self.anchored = anchored
        self._total = total

    @property
    def total(self) -> int:
        """Give the tokens of the request that would go out now."""
        return self._total

    def of(self, seq: int) -> int:
        """Give the tokens of one node. Raises ValueError when the seq is none."""
        return self.tokens[self.nodes.index(seq)]


class MeterProjection:
    """Keeps, for each node, the counts that the estimate is made of, and the last anchor."""

    name = "tokens"
    version = 1

    def __init__(self) -> None:
        self._surface = SurfaceProjection()

    def init(self) -> MeterState:
        """Give the state of the empty log."""
        return {
            "surface": self._surface.init(),
            "counts": {},
            "tools": [0] * 10,
            "family": family_of(""),
            "asked": None,
            "anchor": None,
            "factor": 1.0,
        }

    def apply(self, state: MeterState, event: Event) -> None:
        """Take in a node, a header, or what a provider counted."""
        if event.surface_op is not None:
            self._take_node(state, event)
        if event.type == "request/header":
            _take_header(state, event)
        elif event.type == "request/sent":
            state["asked"] = [len(state["surface"]["nodes"]), state["surface"]["generation"]]
        elif event.type == "assistant/message":
            _take_count(state, event)

    def _take_node(self, state: MeterState, event: Event) -> None:
        surface: SurfaceState = state["surface"]
        generation, count = surface["generation"], len(surface["nodes"])
        self._surface.apply(surface, event)
        state["counts"][str(event.seq)] = _message_counts(message_of(event))
        if surface["generation"] != generation:
            state["anchor"] = None
            if len(surface["nodes"]) <= count:
                kept = set(map(str, surface["nodes"]))
                state["counts"] = {seq: counts for seq, counts in state["counts"].items() if seq in kept}

    def view(self, state: MeterState, log: Log) -> Meter:
        """Give the meter."""
        nodes = surface_of(state["surface"]).nodes
        family, factor = state["family"], state["factor"]
        tokens = [round(_tokens(state["counts"][str(seq)], family) * factor) for seq in nodes]
        overhead = round(tokens_of(state["tools"], family) * factor)
        anchor = state["anchor"]
        if anchor is None:
            return Meter(nodes, tokens, overhead, 0, sum(tokens) + overhead)
        covered, counted = anchor
        return Meter(nodes, tokens, overhead, covered, counted + sum(tokens[covered:]))


def _take_header(state: MeterState, event: Event) -> None:
    data = event.data
    if not isinstance(data, RequestHeaderEvent):
        return
    config = data.header.config
    state["family"] = family_of(str(config.get("model", "")) if isinstance(config, dict) else "")
    tools = bytes(data.header.tools_json).decode() if data.header.tools_json else ""
    counts = counts_of(tools)
    if counts != state["tools"]:
        state["tools"], state["anchor"] = counts, None


def _take_count(state: MeterState, event: Event) -> None:
    """Anchor on what the provider counted for the request that this answers, and on the answer itself."""
    data, asked = event.data, state["asked"]
    state["asked"] = None
    if not isinstance(data, AssistantMessage) or data.usage is None or asked is None:
        return
    covered, generation = asked
    counted = _input(data.usage)
    if counted <= 0 or generation != state["surface"]["generation"]:
        return
    nodes = state["surface"]["nodes"]
    family = state["family"]
    estimated = tokens_of(state["tools"], family)
    estimated += sum(_tokens(state["counts"][str(seq)], family) for seq in nodes[:covered])
    state["factor"] = min(_MOST, max(_LEAST, counted / estimated)) if estimated else 1.0
    state["anchor"] = [covered, counted]


def _input(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def _tokens(counts: list[int], family: str) -> float:
    """Give the estimate of a node: its texts, its frame, and what stands in its last count, which is in tokens."""
    return tokens_of(counts[:-1], family) + counts[-1]


def _message_counts(message: Message | None) -> list[int]:
    """Give the counts of a message's texts, and last the tokens of its frame and images."""
    if message is None:
        return [0] * 11
    texts: list[str] = []
    images = sum(_collect(block, texts) for block in message.content)
    return [*counts_of("\n".join(texts)), _PER_MESSAGE + images * _PER_IMAGE]


def _collect(block: Block, texts: list[str]) -> int:
    """Add the texts of a block, and give how many images it holds."""
    match block:
        case Text() | Reasoning():
            texts.append(block.text)
        case ToolCall():
            texts.append(f"{block.name} {block.arguments}")
        case ToolResult():
            return sum(_collect(inner, texts) for inner in block.content)
        case Image() | File():
            return 1
        case _:
            texts.append(block.to_json().decode())
    return 0


PROJECTION = MeterProjection()
