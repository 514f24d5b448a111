"""Reading sessions of DeepSeek Harness."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.core import turn_of
from benchmarks.figure import Figure, median_seconds
from everlog.interop import dsh

TURNS = 500
DELTAS = 200


def figures() -> Iterator[Figure]:
    """Give the figures of the reader."""
    data = _file()
    lines = data.splitlines()
    ours = median_seconds(lambda: dsh.read(data), 3)
    theirs = median_seconds(lambda: [json.loads(line) for line in lines], 3)
    events = len(dsh.read(data).events)
    note = f"json.loads() of its lines; {events / ours:,.0f} events/s, {len(data) / ours / 1e6:.1f} MB/s"
    yield Figure("read a log, packed rows unpacked", ours / theirs, "x", "", note)


def _file() -> bytes:
    """Give a file of ordinary turns whose answers were streamed."""
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/w", "delegationDepth": 0}
    rows: list[dict[str, Any]] = [header]
    seq = 0
    for turn in range(1, TURNS + 1):
        for name, data, surface, cites in turn_of(turn):
            marks: dict[str, Any] = {} if surface is None else {"surfaceOp": surface}
            marks |= {"sourceEventSeqs": [seq - 1]} if cites else {}
            rows.append({"type": name, "seq": seq, "time": seq, "data": data, **marks})
            seq += 1
            if name == "step/start":
                deltas: dict[str, Any] = {
                    "turn": turn,
                    "step": 1,
                    "index": 0,
                    "dt": [1] * (DELTAS - 1),
                    "texts": [" word"] * DELTAS,
                }
                rows.append({"type": "text-chunks", "seq0": seq, "time0": seq, "data": deltas})
                seq += DELTAS
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
