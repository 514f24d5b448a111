"""What sessions cost: each request with its tokens, its times and its price, and sums of them.

Folded from logs; prices come from the catalogue, so that a price that is learned later counts for earlier requests.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from everlog.llm.catalogue import Price
from everlog.session.event import Event
from everlog.session.jsonvalue import decode_or_text
from everlog.session.log import Log
from everlog.session.payloads import CompactionEnd, CompactionSummary, RequestSide, SessionTitle, Usage
from everlog.session.projections.request import Requests
from everlog.session.projections.steps import Step
from everlog.session.projections.timeline import StepSpan, TurnSpan
from everlog.session.projections.usage import Spent

PriceOf = Callable[[str, str], Price | None]
"""Gives the price of a model by provider and name; None when it is not known."""


@dataclass(frozen=True)
class Asked:
    """One request: an attempt of a step, or one that belongs to no step.

    Attributes:
        session: the id of its session.
        turn, step, attempt: whose it is; 0 for one of no step.
        purpose: `step`, or what else it was for: `summary`, `title`.
        time: when it was sent, in milliseconds since the epoch; None when the log does not say.
        model: who was asked, as `provider/model`; empty when the log does not say.
        usage: its tokens; None when the provider told none.
        first_ms: how long until the first piece of the answer came; None when that is not known.
        writing_ms: how long the answer came, from its first piece to its end.
        failed: whether no answer came of it.
        cost: its price; None when the model has none that is known.
    """

    session: str
    turn: int
    step: int
    attempt: int
    purpose: str
    time: int | None
    model: str
    usage: Usage | None
    first_ms: int | None = None
    writing_ms: int | None = None
    failed: bool = False
    cost: float | None = None


@dataclass(frozen=True)
class ToolTime:
    """One call: which tool, in whose step, when, how long it ran, and how long a person was asked before."""

    session: str
    turn: int
    step: int
    name: str
    time: int | None
    ran_ms: int
    waited_ms: int


class Sums:
    """Sums over requests and calls.

    Attributes:
        requests: how many there were; `failed` of them gave no answer, `retries` of them were made again.
        fresh, cache_read, cache_write, output, reasoning: tokens; the first four are disjoint.
        cost: the price of those that have one; None when none has.
        unpriced: how many requests with tokens have none; `unpriced_models` are those that they asked, in order.
        tool_ms, waited_ms, calls: how long tools ran, how long people were asked, how many calls there were.
        first_ms: the median time until the first piece of an answer; None when no log tells.
        tokens_per_second: output while it was written; None when no log tells.
    """

    def __init__(self, asked: Iterable[Asked], tools: Iterable[ToolTime]) -> None:
        asked, tools = list(asked), list(tools)
        used = [one.usage for one in asked if one.usage is not None]
        self.requests = len(asked)
        self.retries = sum(one.attempt > 1 for one in asked)
        self.failed = sum(one.failed for one in asked)
        self.fresh = sum(usage.input_tokens for usage in used)
        self.cache_read = sum(usage.cache_read_tokens for usage in used)
        self.cache_write = sum(usage.cache_write_tokens for usage in used)
        self.output = sum(usage.output_tokens for usage in used)
        self.reasoning = sum(usage.reasoning_tokens for usage in used)
        costs = [one.cost for one in asked if one.cost is not None]
        self.cost = sum(costs) if costs else None
        unpriced = [one.model for one in asked if one.usage is not None and one.cost is None]
        self.unpriced = len(unpriced)
        self.unpriced_models = list(dict.fromkeys(unpriced))
        self.calls = len(tools)
        self.tool_ms = sum(tool.ran_ms for tool in tools)
        self.waited_ms = sum(tool.waited_ms for tool in tools)
        firsts = [one.first_ms for one in asked if one.first_ms is not None]
        self.first_ms = statistics.median(firsts) if firsts else None
        self.tokens_per_second = _pace(asked)

    @property
    def input(self) -> int:
        """Give the input tokens, from a cache or not."""
        return self.fresh + self.cache_read + self.cache_write

    @property
    def hit_rate(self) -> float | None:
        """Give the share of the input that came from a cache; None without input."""
        return self.cache_read / self.input if self.input else None


def _pace(asked: Iterable[Asked]) -> float | None:
    """Give output tokens a second, over the answers that took longer than the clock can tell."""
    timed = [(one.usage.output_tokens, one.writing_ms) for one in asked if one.usage is not None and one.writing_ms]
    seconds = sum(ms for _, ms in timed) / 1000
    return sum(tokens for tokens, _ in timed) / seconds if seconds else None


class Spending:
    """What one session cost, or only the part of it that it did not inherit from the session it is a fork of."""

    def __init__(self, log: Log, price_of: PriceOf, since_seq: int = 0) -> None:
        """Fold a log; steps and side requests that began before the event `since_seq` are left out."""
        self._id = log.id
        self._price_of = price_of
        steps: list[Step] = [step for step in log.project("steps") if (step.start_seq or 0) >= since_seq]
        turns: list[TurnSpan] = list(log.project("timeline"))
        spans = {(turn.turn, span.step): span for turn in turns for span in turn.steps}
        own = [(step, spans[step.turn, step.step]) for step in steps if (step.turn, step.step) in spans]
        self.asked = sorted([*self._attempts(log, own), *self._aside(log, since_seq)], key=lambda one: one.time or 0)
        """Every request, in the order of time."""
        self.tools = [tool for step, span in own for tool in self._tools(step, span)]
        """Every call."""

    def _attempts(self, log: Log, steps: Iterable[tuple[Step, StepSpan]]) -> Iterator[Asked]:
        spent: Spent = log.project("usage")
        models = _models(log)
        for step, span in steps:
            for attempt in span.attempts:
                key = step.turn, step.step, attempt.attempt
                unanswered = attempt is not span.attempts[-1] or step.ended in _UNANSWERED
                yield self._priced(
                    Asked(
                        session=self._id,
                        turn=step.turn,
                        step=step.step,
                        attempt=attempt.attempt,
                        purpose="step",
                        time=attempt.start,
                        model=models.get(key, ""),
                        usage=spent.attempts.get(key),
                        first_ms=_between(attempt.start, attempt.first),
                        writing_ms=_between(attempt.first, attempt.end),
                        failed=unanswered,
                    )
                )

    def _aside(self, log: Log, since_seq: int) -> Iterator[Asked]:
        """Give the requests of no step: what they cost stands in the event that they led to."""
        waiting: dict[str, tuple[RequestSide, int]] = {}
        for event in log.events.between(since_seq, log.next_seq):
            if event.type not in _ASIDE:
                continue
            if isinstance(event.data, RequestSide):
                key = event.data.compaction_id or event.data.id
                if key in waiting:  # one that was made again
                    yield self._side(*waiting[key], None, True)
                waiting[key] = (event.data, event.time)
            else:
                key, usage, failed = _told(event)
                if key in waiting:
                    yield self._side(*waiting.pop(key), usage, failed)
        for sent, time in waiting.values():
            yield self._side(sent, time, None, True)

    def _side(self, sent: RequestSide, time: int, usage: Usage | None, failed: bool) -> Asked:
        model = _name(sent.header.config)
        return self._priced(Asked(self._id, 0, 0, 0, sent.purpose, time, model, usage, failed=failed))

    def _tools(self, step: Step, span: StepSpan) -> Iterator[ToolTime]:
        for tool in span.tools:
            lasted = _between(tool.start, tool.end) or 0
            name, waited = tool.name or "unknown", min(tool.waited, lasted)
            yield ToolTime(self._id, step.turn, step.step, name, tool.start or span.start, lasted - waited, waited)

    def _priced(self, one: Asked) -> Asked:
        provider, _, model = one.model.partition("/")
        price = self._price_of(provider, model) if one.usage is not None else None
        return one if price is None or one.usage is None else replace(one, cost=price.of(one.usage))


_ASIDE = frozenset({"request/side", "compaction/summary", "compaction/end", "session/title"})


_UNANSWERED = frozenset({"failed", "cancelled", "empty"})


def _told(event: Event) -> tuple[str, Usage | None, bool]:
    """Give whose outcome an event is, what that cost, and whether it came to nothing."""
    match event.data:
        case CompactionSummary(compaction_id=id, usage=usage):
            return id, usage, False
        case CompactionEnd(compaction_id=id, error_json=told):
            return id, _usage(told), True
        case SessionTitle(source_json=told):
            source = decode_or_text(bytes(told)) if told else None
            asked = source.get("request") if isinstance(source, dict) else None
            return str(asked), _usage(told), False
    return "", None, False


def _usage(told: object) -> Usage | None:
    value = decode_or_text(bytes(told)) if told else None  # type: ignore[call-overload]
    found = value.get("usage") if isinstance(value, dict) else None
    if not isinstance(found, dict):
        return None
    counts = {key: value for key, value in found.items() if isinstance(value, int)}
    return Usage(
        input_tokens=counts.get("inputTokens", 0),
        output_tokens=counts.get("outputTokens", 0),
        cache_read_tokens=counts.get("cacheReadTokens", 0),
        cache_write_tokens=counts.get("cacheWriteTokens", 0),
        reasoning_tokens=counts.get("reasoningTokens", 0),
    )


def _models(log: Log) -> dict[tuple[int, int, int], str]:
    """Give the model that each attempt asked."""
    requests: Requests = log.project("request")
    by_header: dict[int | None, str] = {None: ""}
    found = {}
    for key, request in requests.items():
        seq = request.header_seq
        if seq not in by_header:
            header = request.header
            by_header[seq] = "" if header is None else _name(header.config)
        found[key] = by_header[seq]
    return found


def _name(config: object) -> str:
    known = config if isinstance(config, dict) else {}
    return f"{known.get('provider', '')}/{known.get('model', '')}".strip("/")


def _between(start: int | None, end: int | None) -> int | None:
    return max(0, end - start) if start is not None and end is not None else None
