"""One chunk of that program's streams and one of our stream records, each as the other.

A chunk becomes a record with its own time; nothing is joined. What a record has no name for is kept in it,
and a chunk of a form that a record could not hold is kept whole, as a record of kind `foreign`.

From version 2 on a stream is embedded in its answer, as runs of deltas (`text-chunks` and so on, with `time0`,
`dt` and the parts) and single chunks (`chunk`, with `time`). A run is one of our records as it is.
"""

from __future__ import annotations

from typing import Any

from everlog.session.records import PACKED

_DELTAS = {
    "text-delta": ("text", "text"),
    "reasoning-delta": ("reasoning", "text"),
    "tool-call-delta": ("tool-call", "argumentsDelta"),
}
"""Type of a delta -> kind of the record, and the name of the delta's part."""

_TYPES = {kind: (type, part) for type, (kind, part) in _DELTAS.items()}
_OWN = {"kind", "t0", "dt", "parts"}
FOREIGN = "foreign"


def record_of(chunk: dict[str, Any], time: int) -> dict[str, Any]:
    """Give the record of a chunk that came at `time` (ms since the epoch)."""
    kind, part = _DELTAS.get(chunk.get("type", ""), (None, ""))
    if kind is not None and isinstance(chunk.get(part), str) and not _OWN & chunk.keys():
        rest = {key: value for key, value in chunk.items() if key not in ("type", part)}
        return {"kind": kind, **rest, "t0": time, "dt": [], "parts": [chunk[part]]}
    type = chunk.get("type")
    if isinstance(type, str) and type not in (*PACKED, *_DELTAS, FOREIGN) and not _OWN & chunk.keys():
        return {"kind": type, "t0": time, **{key: value for key, value in chunk.items() if key != "type"}}
    return {"kind": FOREIGN, "t0": time, "chunk": chunk}


def chunk_of(record: dict[str, Any]) -> dict[str, Any]:
    """Give the chunk that a record was made from.

    Raises:
        ValueError: the record holds more than one delta; it was not made from one chunk.
    """
    kind = record.get("kind")
    if kind == FOREIGN:
        chunk: dict[str, Any] = record["chunk"]
        return chunk
    rest = {key: value for key, value in record.items() if key not in _OWN}
    if kind not in _TYPES:
        return {"type": kind, **rest}
    if len(record.get("parts", ())) != 1:
        raise ValueError("a record of several deltas, which that program keeps as chunks of their own")
    type, part = _TYPES[kind]
    return {"type": type, **rest, part: record["parts"][0]}


_RUNS = {
    "text-chunks": ("text", "texts"),
    "reasoning-chunks": ("reasoning", "texts"),
    "tool-call-chunks": ("tool-call", "args"),
}
"""Type of a run -> kind of the record, and the name of the run's parts."""


def embedded_records(stream: list[Any]) -> list[Any]:
    """Give our records for an embedded stream; an entry of another form stays as it is."""
    return [_embedded_record(entry) if isinstance(entry, dict) else entry for entry in stream]


def _embedded_record(entry: dict[str, Any]) -> dict[str, Any]:
    match entry:
        case {"type": "chunk", "time": int() as time, "chunk": dict() as chunk}:
            return record_of(chunk, time)
        case {"type": str() as type, "time0": _, "dt": _} if type in _RUNS and _RUNS[type][1] in entry:
            kind, parts = _RUNS[type]
            names = {"time0": "t0", parts: "parts"}
            return {"kind": kind} | {names.get(key, key): value for key, value in entry.items() if key != "type"}
        case _:
            return entry
