"""What to shorten: pure decisions over the surface and the meter. Nothing here appends.

Cheap first: long old results lose their middle. What is still too much is summarised, from the first node after
the system prompt up to a cut that never stands between a call and its result, nor before input that has not been
answered, and leaves the recent past as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from everlog.compaction.meter import Meter
from everlog.session.log import Log
from everlog.session.messages import Text, ToolResult
from everlog.session.payloads import ToolResultEvent


@dataclass(frozen=True)
class Budget:
    """How much the view may hold. All in tokens, but the shares of the window.

    Attributes:
        window: the capacity of the model.
        compact_at: the share of the window at which something is shortened.
        aim_for: the share that pruning tries to come under.
        keep_recent: the share that stays as it is at the tail.
        prune_from: a result of more tokens than this may lose its middle.
        prune_to: what is left of it, head and tail together.
    """

    window: int
    compact_at: float = 0.8
    aim_for: float = 0.6
    keep_recent: float = 0.25
    prune_from: int = 1_000
    prune_to: int = 400

    @property
    def limit(self) -> int:
        """Give the number of tokens at which something is shortened."""
        return int(self.window * self.compact_at)

    @property
    def aim(self) -> int:
        """Give the number of tokens that pruning tries to come under."""
        return int(self.window * self.aim_for)

    @property
    def recent(self) -> int:
        """Give the number of tokens that stay at the tail."""
        return int(self.window * self.keep_recent)


@dataclass(frozen=True)
class Prune:
    """A result to shorten.

    Attributes:
        seq: its node.
        tokens: what it holds now.
        text: what is left of it, with a note of what was cut.
    """

    seq: int
    tokens: int
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


def prunes(log: Log, meter: Meter, budget: Budget) -> Iterator[Prune]:
    """Give the old results to shorten, the oldest first, until the aim is met. Recent ones are left alone."""
    total = meter.total
    for at in range(_recent_from(meter, budget)):
        if total <= budget.aim:
            return
        seq, tokens = meter.nodes[at], meter.tokens[at]
        if tokens <= budget.prune_from or log.events[seq].type != "tool/result":
            continue
        text = _shortened(log, seq, tokens, budget.prune_to)
        if text is not None:
            total -= tokens - budget.prune_to
            yield Prune(seq, tokens, text)


def _recent_from(meter: Meter, budget: Budget) -> int:
    """Give the position at which the recent past begins."""
    held = 0
    for at in range(len(meter.nodes) - 1, -1, -1):
        held += meter.tokens[at]
        if held > budget.recent:
            return at + 1
    return 0


def _shortened(log: Log, seq: int, tokens: int, keep: int) -> str | None:
    """Give the head and the tail of a result's text, with a note between; None when there is no text to cut."""
    data = log.events[seq].data
    result = data.message.result if isinstance(data, ToolResultEvent) else None
    text = _text_of(result) if result is not None else ""
    chars = len(text) * keep // max(tokens, 1)
    if not text or chars * 2 >= len(text):
        return None
    head, tail = chars * 2 // 3, chars // 3
    cut = len(text) - head - tail
    note = f"\n[... {cut:,} characters of this result are left out here; call the tool again to see them ...]\n"
    return f"{text[:head]}{note}{text[len(text) - tail :]}"


def _text_of(result: ToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, Text))


def cut(log: Log, meter: Meter, budget: Budget) -> Cut | None:
    """Give the run of nodes to summarise, or None when there is none that may be."""
    first = 1 if log.surface.system is not None else 0
    last = min(_recent_from(meter, budget), _unanswered_from(log, meter))
    stop = _legal_stop(log, meter, first, last)
    if stop is None:
        return None
    return Cut(meter.nodes[first:stop], sum(meter.tokens[first:stop]))


def _unanswered_from(log: Log, meter: Meter) -> int:
    """Give the position after the last answer whose calls all have results: what follows is still to be answered."""
    for at in range(len(meter.nodes) - 1, -1, -1):
        if log.events[meter.nodes[at]].type in ("assistant/message", "tool/result"):
            pending = log.ledger.calls
            if pending.pending and pending.asked_by is not None and pending.asked_by in meter.nodes:
                return meter.nodes.index(pending.asked_by)
            return at + 1
    return 0


def _legal_stop(log: Log, meter: Meter, first: int, last: int) -> int | None:
    """Give the last position at or before `last` that parts no call from its result; None when nothing is before it.

    Two nodes at least are worth a summary: one would only be replaced by another.
    """
    for stop in range(min(last, len(meter.nodes)), first + 1, -1):
        if stop == len(meter.nodes) or log.events[meter.nodes[stop]].type != "tool/result":
            return stop
    return None
