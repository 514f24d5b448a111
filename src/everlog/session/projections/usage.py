"""Tokens: of each attempt, failed ones too, of each step, and in all.

The usage records of an attempt's stream count; where there are none, the usage that its message or its
failure carries. Cache reads and writes are kept apart from input that was processed anew. The requests of
compactions and titles count in the whole and in no step; also those that came to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from everlog.session.event import Event
from everlog.session.jsonvalue import decode_or_text
from everlog.session.log import Log
from everlog.session.payloads import (
    AssistantAttempt,
    AssistantChunk,
    AssistantMessage,
    CompactionEnd,
    CompactionSummary,
    SessionTitle,
    Usage,
)
from everlog.session.records import deltas_of
from everlog.session.signs import Sign, nothing_running, sign_of

UsageState: TypeAlias = "dict[str, Any]"

_NAMES = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_SANE = 2**53


class Spent:
    """The usage of a log at one seq; it stays as it is when the log goes on.

    Attributes:
        total: everything, side requests too.
        side: of requests that belong to no step.
    """

    def __init__(self, state: UsageState) -> None:
        self._rows: list[list[Any]] = list(state["rows"])
        self.total = _usage(state["total"])
        self.side = _usage(state["side"])

    @cached_property
    def attempts(self) -> Mapping[tuple[int, int, int], Usage]:
        """Give the usage of each attempt that reported one, by `(turn, step, attempt)`, in order."""
        return _summed(((row[0], row[1], row[2]), row[3]) for row in self._rows)

    @cached_property
    def steps(self) -> Mapping[tuple[int, int], Usage]:
        """Give the usage of each step, all its attempts together, by `(turn, step)`, in order."""
        return _summed(((row[0], row[1]), row[3]) for row in self._rows)

    def turn(self, turn: int) -> Usage:
        """Give the usage of one turn's steps."""
        return _usage(_sum(row[3] for row in self._rows if row[0] == turn))

    def __repr__(self) -> str:
        return f"<Spent: {self.total}>"


class UsageProjection:
    """One row `[turn, step, attempt, counts]` for each attempt that reported tokens."""

    name = "usage"
    version = 2

    def init(self) -> UsageState:
        """Give the state before any token."""
        return {"running": nothing_running(), "recorded": False, "rows": [], "total": _none(), "side": _none()}

    def apply(self, state: UsageState, event: Event) -> None:
        """Take in the usage that an event reports."""
        if event.type in _SIDE:
            counts = _side_counts(event)
            state["side"] = _sum([state["side"], counts])
            state["total"] = _sum([state["total"], counts])
            return
        sign = sign_of(state["running"], event)
        if sign is None:
            return
        if sign.first:
            state["recorded"] = False
        reported, recorded = _found(event, sign, state["recorded"])
        if reported is not None:
            _put(state, sign, reported)
            state["recorded"] = recorded

    def view(self, state: UsageState, log: Log) -> Spent:
        """Give the sums."""
        return Spent(state)


_SIDE = frozenset({"compaction/summary", "compaction/end", "session/title"})


def _side_counts(event: Event) -> list[int]:
    """Give what a side request cost: a summary, one that did not land, or a title."""
    match event.data:
        case CompactionSummary(usage=Usage() as usage):
            return _counts(usage)
        case CompactionEnd(error_json=told) | SessionTitle(source_json=told) if told:
            said = decode_or_text(bytes(told))
            told_usage = said.get("usage") if isinstance(said, dict) else None
            return [_count(told_usage.get(name)) for name in _NAMES] if isinstance(told_usage, dict) else _none()
    return _none()


def _found(event: Event, sign: Sign, recorded: bool) -> tuple[list[int] | None, bool]:
    """Give the counts that an event reports, or None, and whether a record of the stream did."""
    data = sign.data
    if isinstance(data, AssistantChunk):
        return _recorded(event) if b'"usage"' in bytes(data.records_json) else None, True
    if recorded or not isinstance(data, AssistantMessage | AssistantAttempt):
        return None, recorded
    streamed = _recorded(event) if data.stream_json else None
    if streamed is None and data.usage is not None:
        return _counts(data.usage), False
    return streamed, True


def _recorded(event: Event) -> list[int] | None:
    """Give the counts of the last usage record of an event; None when it has none."""
    found = None
    for delta in deltas_of(event):
        usage = delta.record.get("usage") if delta.kind == "usage" and delta.record is not None else None
        if isinstance(usage, dict):
            found = [_count(usage.get(name)) for name in _NAMES]
    return found


def _put(state: UsageState, sign: Sign, counts: list[int]) -> None:
    """Put what an attempt reports in the place of what it reported before."""
    key, rows = list(sign[:3]), state["rows"]
    before = rows.pop()[3] if rows and rows[-1][:3] == key and not sign.first else _none()
    rows.append([*key, counts])
    state["total"] = [a + b - c for a, b, c in zip(state["total"], counts, before, strict=True)]


def _count(value: object) -> int:
    """Give a number of tokens; what cannot be one, in a foreign log, is none."""
    return int(value) if isinstance(value, int | float) and 0 <= value < _SANE else 0


def _counts(usage: Usage) -> list[int]:
    values = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    return [_count(value) for value in values]


def _none() -> list[int]:
    return [0] * len(_NAMES)


def _sum(counts: Iterable[list[int]]) -> list[int]:
    return [sum(column) for column in zip(*counts, _none(), strict=True)]


def _summed(rows: Iterable[tuple[Any, list[int]]]) -> dict[Any, Usage]:
    sums: dict[Any, list[int]] = {}
    for key, counts in rows:
        sums[key] = _sum([sums.get(key, _none()), counts])
    return {key: _usage(counts) for key, counts in sums.items()}


def _usage(counts: list[int]) -> Usage:
    fresh, output, read, written, reasoning = counts
    return Usage(
        input_tokens=fresh,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


PROJECTION = UsageProjection()
