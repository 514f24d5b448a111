"""Names and shapes of that program's events, and ours: one table, read in both directions.

| there | here |
|---|---|
| `agent/inbox/spliced`, `inserted: [message]` | `inbox/spliced`, `inserted: [{message, wakes}]` |
| `assistant/chunk {chunk}` | `assistant/chunk {attempt, records: [record]}` |
| `llm/retry`, `assistant/attempt` | the same with `attempt` |
| `request/header {header}` | the header in its canonical form; what that leaves out stands beside it, under `dsh` |
| `compaction/*`: `shadowedTokenCount`, range `start`, `end` | `shadowedTokens`, range `startSeq`, `endSeq` |
| `compaction/start` without `trigger` | `trigger: "unknown"` |
| a type without a name here | the same, and `ignorable: true` |

A message wakes when its target is `next-turn`. An attempt is 1 plus the `llm/retry` events before it in its
step. From version 2 on, answers and attempts embed their stream, whose entries become records; a log of such a
version is not written. Everything else is the same on both sides. Data that does not have the shape of its
type is left as it is, in both directions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from everlog.interop.dsh.chunks import chunk_of, embedded_records, record_of

Data: TypeAlias = dict[str, Any]

INBOX_THERE, INBOX_HERE = "agent/inbox/spliced", "inbox/spliced"
BESIDE = "dsh"
"""Under which name a request/header keeps what the canonical form of its header leaves out."""

_HEADER = ("config", "adapterDefaults", "system", "tools")


class Attempts:
    """Counts the attempts of a foreign step, which does not number them."""

    def __init__(self) -> None:
        self._current = 1

    def at(self, type: str) -> int:
        """Give the attempt that an event of this type belongs to, and go on to the next after a retry."""
        if type == "step/start":
            self._current = 1
        found = self._current
        if type == "llm/retry":
            self._current += 1
        return found


def data_here(type: str, data: Any, attempt: int, time: int) -> Any:
    """Give our data for the data of an event there, which came at `time` (ms) in this attempt."""
    if not isinstance(data, dict):
        return data
    match type:
        case "assistant/chunk" if isinstance(data.get("chunk"), dict):
            rest = {key: value for key, value in data.items() if key != "chunk"}
            return {**rest, "attempt": attempt, "records": [record_of(data["chunk"], time)]}
        case "llm/retry" | "assistant/attempt":
            return {**data, "attempt": attempt}
        case _:
            change = _HERE.get(type)
            return change(data) if change is not None else data


def with_records(data: Any) -> Any:
    """Give the data of an answer or attempt of version 2 or later, with our records for its embedded stream."""
    stream = data.get("stream") if isinstance(data, dict) else None
    return {**data, "stream": embedded_records(stream)} if isinstance(stream, list) else data


def data_there(type: str, data: Any) -> Any:
    """Give the data there for our data of an event with our type.

    Raises:
        ValueError: an event there could not say it.
    """
    if not isinstance(data, dict):
        return data
    match type:
        case "assistant/chunk" if isinstance(data.get("records"), list):
            rest = {key: value for key, value in data.items() if key not in ("attempt", "records")}
            if len(data["records"]) != 1:
                raise ValueError("a chunk of several records, which that program keeps as chunks of their own")
            return {**rest, "chunk": chunk_of(data["records"][0])}
        case "llm/retry" | "assistant/attempt":
            return {key: value for key, value in data.items() if key != "attempt"}
        case _:
            change = _THERE.get(type)
            return change(data) if change is not None else data


def _inbox_here(data: Data) -> Data:
    inserted = data.get("inserted")
    if not isinstance(inserted, list):
        return data
    wakes = data.get("target") == "next-turn"
    return {**data, "inserted": [{"message": message, "wakes": wakes} for message in inserted]}


def _inbox_there(data: Data) -> Data:
    inserted = data.get("inserted")
    if not isinstance(inserted, list):
        return data
    wakes = data.get("target") == "next-turn"
    if any(not isinstance(item, dict) or item.keys() != {"message", "wakes"} for item in inserted):
        raise ValueError("an inbox entry that is more than a message")
    if any(item["wakes"] != wakes for item in inserted):
        raise ValueError("a message that wakes, or waits, where that program's would not")
    return {**data, "inserted": [item["message"] for item in inserted]}


def _header_here(data: Data) -> Data:
    header = data.get("header")
    if not isinstance(header, dict):
        return data
    canonical = {key: header[key] for key in _HEADER if key in header and header[key] not in ("", [])}
    beside = {key: value for key, value in header.items() if key not in canonical}
    return {**data, "header": canonical, **({BESIDE: beside} if beside else {})}


def _header_there(data: Data) -> Data:
    header, beside = data.get("header"), data.get(BESIDE, {})
    if not isinstance(header, dict) or not isinstance(beside, dict):
        return data
    rest = {key: value for key, value in data.items() if key != BESIDE}
    return {**rest, "header": {**header, **beside}}


def _renamed(data: Data, names: dict[str, str]) -> Data:
    return {names.get(key, key): value for key, value in data.items()}


def _shadow_here(data: Data) -> Data:
    return _shadow(data, {"shadowedTokenCount": "shadowedTokens"}, {"start": "startSeq", "end": "endSeq"})


def _shadow_there(data: Data) -> Data:
    return _shadow(data, {"shadowedTokens": "shadowedTokenCount"}, {"startSeq": "start", "endSeq": "end"})


def _shadow(data: Data, names: dict[str, str], ends: dict[str, str]) -> Data:
    renamed = _renamed(data, names)
    if isinstance(renamed.get("shadowedRange"), dict):
        renamed["shadowedRange"] = _renamed(renamed["shadowedRange"], ends)
    return renamed


def _compaction_here(data: Data) -> Data:
    return {"trigger": "unknown", **data}


def _compaction_there(data: Data) -> Data:
    return {key: value for key, value in data.items() if (key, value) != ("trigger", "unknown")}


_HERE: dict[str, Callable[[Data], Data]] = {
    INBOX_HERE: _inbox_here,
    "request/header": _header_here,
    "compaction/start": _compaction_here,
    "compaction/summary": _shadow_here,
    "compaction/prune": _shadow_here,
}
_THERE: dict[str, Callable[[Data], Data]] = {
    INBOX_HERE: _inbox_there,
    "request/header": _header_there,
    "compaction/start": _compaction_there,
    "compaction/summary": _shadow_there,
    "compaction/prune": _shadow_there,
}


def type_here(type: str) -> str:
    """Give our name of a type there."""
    return INBOX_HERE if type == INBOX_THERE else type


def type_there(type: str) -> str:
    """Give the name there of one of our types."""
    return INBOX_THERE if type == INBOX_HERE else type


def op_here(op: Any, ends: tuple[str, str]) -> Any:
    """Give our surface operation for one there, whose two ends have these names."""
    return _renamed(op, {ends[0]: "startSeq", ends[1]: "endSeq"}) if isinstance(op, dict) else op


def op_there(op: Any, ends: tuple[str, str]) -> Any:
    """Give the surface operation there for one of ours."""
    return _renamed(op, {"startSeq": ends[0], "endSeq": ends[1]}) if isinstance(op, dict) else op
