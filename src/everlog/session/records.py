"""Stream records: the raw deltas of a model's answer, packed without losing a boundary or a time.

Consecutive deltas of one block are one record: `{kind: "text" | "reasoning", index, t0, dt, parts}` or
`{kind: "tool-call", index, id, name?, t0, dt, parts}`, where `parts` are the deltas, `t0` is the time of the
first in milliseconds since the epoch and `dt` the pauses between them in milliseconds, one fewer than the
parts. Everything else is a record by itself with its time in `t0`: `block-start {index, blockType}`,
`block-end {index}`, `usage {usage}`, `finish {reason}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from everlog.session.event import Event
from everlog.session.jsonvalue import decode_or_text
from everlog.session.messages import Block, Reasoning, Text
from everlog.session.payloads import AssistantAttempt, AssistantChunk, AssistantMessage

PACKED = ("text", "reasoning", "tool-call")


class Delta(msgspec.Struct, frozen=True):
    """One piece of a stream as it came.

    Attributes:
        kind: `text`, `reasoning`, `tool-call`, `block-start`, `block-end`, `usage`, `finish`, or unknown.
        time: milliseconds since the epoch.
        text: what a packed kind adds; empty for the others.
        record: for the others, the record as it is stored.
    """

    kind: str
    time: int
    index: int = 0
    text: str = ""
    id: str | None = None
    name: str | None = None
    record: dict[str, Any] | None = None


class RecordPacker:
    """Packs deltas as they come. `take` gives the records so far and begins anew."""

    def __init__(self) -> None:
        self._records: list[dict[str, Any]] = []
        self._last = 0
        self._size = 0

    @property
    def size(self) -> int:
        """Give how many characters of deltas are held."""
        return self._size

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, delta: Delta) -> None:
        """Take a delta in; its text must hold no lone surrogates."""
        self._size += len(delta.text)
        if delta.kind not in PACKED:
            self._records.append({"kind": delta.kind, "t0": delta.time, **(delta.record or {})})
        elif self._records and _joins(self._records[-1], delta):
            self._records[-1]["dt"].append(delta.time - self._last)
            self._records[-1]["parts"].append(delta.text)
        else:
            self._records.append(_opening(delta))
        self._last = delta.time

    def take(self) -> list[dict[str, Any]]:
        """Give the records held, and hold none."""
        taken, self._records, self._size = self._records, [], 0
        return taken


def _joins(record: dict[str, Any], delta: Delta) -> bool:
    if record["kind"] != delta.kind or record["index"] != delta.index:
        return False
    return delta.kind != "tool-call" or (record.get("id"), record.get("name")) == (delta.id, delta.name)


def _opening(delta: Delta) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": delta.kind, "index": delta.index}
    if delta.kind == "tool-call":
        record["id"] = delta.id
        if delta.name is not None:
            record["name"] = delta.name
    return {**record, "t0": delta.time, "dt": [], "parts": [delta.text]}


def unpack(records: object) -> Iterator[Delta]:
    """Give the deltas of stored records one by one. Records of an unexpected shape are given whole, or skipped."""
    for record in records if isinstance(records, list) else ():
        if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
            continue
        parts, pauses = record.get("parts"), record.get("dt")
        if record["kind"] in PACKED and isinstance(parts, list) and isinstance(pauses, list):
            yield from _deltas(record, parts, pauses)
        else:
            yield Delta(record["kind"], _whole(record.get("t0")), _whole(record.get("index")), record=record)


def _deltas(record: dict[str, Any], parts: list[Any], pauses: list[Any]) -> Iterator[Delta]:
    time, index = _whole(record.get("t0")), _whole(record.get("index"))
    for at, part in enumerate(parts):
        time += _whole(pauses[at - 1]) if 0 < at <= len(pauses) else 0
        if isinstance(part, str):
            yield Delta(record["kind"], time, index, part, _text(record.get("id")), _text(record.get("name")))


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < 2**63 else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def deltas_of(event: Event) -> Iterator[Delta]:
    """Give the deltas that an event brings: a chunk its own, a foreign answer or attempt those it embeds."""
    data = event.data
    if isinstance(data, AssistantChunk):
        yield from unpack(decode_or_text(bytes(data.records_json)))
    elif isinstance(data, AssistantMessage | AssistantAttempt) and data.stream_json:
        yield from unpack(decode_or_text(bytes(data.stream_json)))


def partial_blocks(events: Iterable[Event]) -> tuple[Block, ...]:
    """Give the text and reasoning that chunks hold, as blocks in the order of their first delta.

    Call blocks are left out, and so are blocks without a character.
    """
    texts: dict[tuple[int, str], list[str]] = {}
    for event in events:
        for delta in deltas_of(event):
            if delta.kind in ("text", "reasoning"):
                texts.setdefault((delta.index, delta.kind), []).append(delta.text)
    blocks = ((kind, "".join(parts)) for (_, kind), parts in texts.items())
    return tuple(Text(text=text) if kind == "text" else Reasoning(text=text) for kind, text in blocks if text)
