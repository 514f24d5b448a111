"""What the model sees, part by part: how many tokens each takes, and what it stands for.

A view of a log at one seq, for faces. Reads the log; appends nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from everlog.compaction.meter import PROJECTION, Meter
from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.messagelist import message_of
from everlog.session.messages import PluginSource
from everlog.session.payloads import RequestContext
from everlog.session.surface import Surface

Kind: TypeAlias = Literal["system", "tools", "messages", "answers", "results", "notes", "summaries"]
KINDS: tuple[Kind, ...] = ("system", "tools", "summaries", "notes", "messages", "answers", "results")
"""System prompt; schemas of the tools; checkpoints of compactions; what plugins and the loop tell; what people say;
what the model said; what tools gave."""


@dataclass(frozen=True)
class Part:
    """One node of the surface, or one that a node stands for.

    Attributes:
        seq: the event.
        kind: what it is.
        tokens: how many it has, as the meter estimates it.
        stands_for: the nodes that it took the place of, in their order; empty for one that stands for itself.
        originals: how many events stand behind it in all, through every replacement; 1 for one that is itself.
    """

    seq: int
    kind: Kind
    tokens: int
    stands_for: tuple[int, ...]
    originals: int


class Composition:
    """What the model sees at one seq.

    Attributes:
        at: the seq.
        parts: the nodes, in order.
        total: the tokens of the request that would go out then.
        overhead: those of the tools.
        anchored: how many of the leading nodes the provider's own count covers.
        window: the capacity of the route in force, when it is known.
        model: that route, as `provider/model`; None before the first request.
    """

    def __init__(self, log: Log, at: int | None = None) -> None:
        """Look at a log as it was after the event `at`, or as it is now. Raises IndexError for no event of it."""
        self._log = log
        self.at = log.next_seq - 1 if at is None else at
        self._meter: Meter = log.project(PROJECTION, at)
        self._shadowed = _replacements(log, self.at)
        self.total, self.overhead, self.anchored = self._meter.total, self._meter.overhead, self._meter.anchored
        context: RequestContext | None = log.project("context", at)
        self.window = context.context_window if context is not None else None
        self.model = f"{context.provider}/{context.model}" if context is not None else None
        self.parts = tuple(self._parts(self._meter.nodes))

    def _parts(self, seqs: Iterable[int]) -> Iterator[Part]:
        for event in self._log.events.pick(seqs):
            message = message_of(event)
            tokens = 0 if message is None else self._meter.of_message(message)
            shadowed = self._shadowed.get(event.seq, ())
            yield Part(event.seq, _kind(event), tokens, shadowed, self._originals(event.seq))

    def _originals(self, seq: int) -> int:
        count, left = 0, [seq]
        while left:
            behind = self._shadowed.get(left.pop(), ())
            left += behind
            count += not behind
        return count

    def behind(self, seq: int) -> list[Part]:
        """Give what an event took the place of, in its order; empty when it replaced nothing by then."""
        return list(self._parts(self._shadowed.get(seq, ())))

    def by_kind(self) -> dict[Kind, int]:
        """Give the tokens of each kind, those that there are; scaled so that they add up to the total."""
        sums: dict[Kind, float] = dict.fromkeys(KINDS, 0)
        sums["tools"] = self.overhead
        for part in self.parts:
            sums[part.kind] += part.tokens
        scale = self.total / whole if (whole := sum(sums.values())) else 0
        return {kind: round(tokens * scale) for kind, tokens in sums.items() if tokens}


def _replacements(log: Log, at: int) -> dict[int, tuple[int, ...]]:
    """Give what each event of a log up to a seq took the place of. Folds the whole log: what a store opens may not."""
    surface = Surface()
    for event in log.events.between(0, at + 1):
        if event.surface_op is not None:
            surface.apply(event)
    return {change.seq: change.shadowed for change in surface.rewrites if change.shadowed}


def _kind(event: Event) -> Kind:
    match event.type:
        case "system/message":
            return "system"
        case "assistant/message":
            return "answers"
        case "tool/result":
            return "results"
        case "user/message":
            message = message_of(event)
            source = None if message is None else message.source
            if not isinstance(source, PluginSource):
                return "messages"
            return "notes" if source.compaction_id is None else "summaries"
        case _:
            return "notes"
