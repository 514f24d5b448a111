"""What to shorten: pure decisions over the surface and the meter. Nothing here appends.

Cheap first: long old results lose their middle. What is still too much is summarised, from the first node after
the system prompt up to a cut that never stands between a call and its result, nor takes in what the model has
not answered yet, and leaves the recent past as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from everlog.compaction.budget import Budget
from everlog.compaction.meter import Meter
from everlog.session.log import Log
from everlog.session.messages import Text, ToolResult
from everlog.session.payloads import AssistantMessage, ToolResultEvent


@dataclass(frozen=True)
class Prune:
    """A result to shorten.

    Attributes:
        seq: its node.
        tokens: what it holds now.
        left: what it will hold.
        text: what is left of it, with a note of what was cut.
    """

    seq: int
    tokens: int
    left: int
    text: str


@dataclass(frozen=True)
class Cut:
    """A run of nodes to summarise.

    Attributes:
        nodes: their seqs, in the order of the surface.
        tokens: what they hold now.
    """

    nodes: tuple[int, ...]
    tokens: int


def prunes(log: Log, meter: Meter, budget: Budget, recent: int) -> list[Prune]:
    """Give the results to shorten, the oldest first, until the aim is met; the last `recent` tokens are left alone."""
    found: list[Prune] = []
    total = meter.total
    for at in range(recent_from(meter, recent)):
        if total <= budget.aim:
            break
        seq, tokens = meter.nodes[at], meter.tokens[at]
        if tokens <= budget.prune_from or log.events[seq].type != "tool/result":
            continue
        text = _shortened(log, seq, tokens, budget.prune_to)
        if text is not None:
            found.append(Prune(seq, tokens, meter.of_text(text), text))
            total -= tokens - found[-1].left
    return found


def recent_from(meter: Meter, recent: int) -> int:
    """Give the position from which on the nodes hold no more than `recent` tokens."""
    held = 0
    for at in range(len(meter.nodes) - 1, -1, -1):
        held += meter.tokens[at]
        if held > recent:
            return at + 1
    return 0


def _shortened(log: Log, seq: int, tokens: int, keep: int) -> str | None:
    """Give the head and the tail of a result's text, with a note between; None when little would be cut."""
    data = log.events[seq].data
    result = data.message.result if isinstance(data, ToolResultEvent) else None
    if result is None:
        return None
    text = "".join(block.text for block in result.content if isinstance(block, Text))
    chars = len(text) * keep // max(tokens, 1)
    if chars * 2 >= len(text) and len(result.content) == 1:
        return None
    head, tail = chars * 2 // 3, chars // 3
    return f"{text[:head]}\n{_note(len(text) - head - tail, result)}\n{text[len(text) - tail :]}"


def _note(characters: int, result: ToolResult) -> str:
    others = sum(not isinstance(block, Text) for block in result.content)
    and_others = f" and {others} images or files" if others else ""
    return f"[... {characters:,} characters{and_others} of this result are left out; call the tool again for them ...]"


def cut(log: Log, meter: Meter, recent: int) -> Cut | None:
    """Give the run of nodes to summarise so that about `recent` tokens stay, or None when there is none that may be.

    Of two nodes at least: one would only be replaced by another.
    """
    first = _first(log, meter)
    last = min(recent_from(meter, recent), _unanswered_from(log, meter))
    for stop in range(last, first + 1, -1):
        if stop == len(meter.nodes) or log.events[meter.nodes[stop]].type != "tool/result":
            return Cut(meter.nodes[first:stop], sum(meter.tokens[first:stop]))
    return None


def _first(log: Log, meter: Meter) -> int:
    """Give the position after the system prompt, and after results without a call, as a foreign log may begin."""
    first = 1 if log.surface.system is not None else 0
    while first < len(meter.nodes) and log.events[meter.nodes[first]].type == "tool/result":
        first += 1
    return first


def _unanswered_from(log: Log, meter: Meter) -> int:
    """Give the position from which on the model has not answered: input, or its last calls with their results."""
    for at in range(len(meter.nodes) - 1, -1, -1):
        event = log.events[meter.nodes[at]]
        if event.type == "assistant/message":
            asks = isinstance(event.data, AssistantMessage) and bool(event.data.message.calls)
            return at if asks else at + 1
    return 0
