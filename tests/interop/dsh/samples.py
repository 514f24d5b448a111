"""Rows as DeepSeek Harness writes them, in few words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

HEADER: Row = {"type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/w", "delegationDepth": 0}
PLACE = {"turn": 1, "step": 1}


def file(rows: Iterable[Row], header: Row = HEADER, **changes: Any) -> bytes:
    """A file with these rows, to which seqs and times are given where they have none."""
    lines = [{**header, **changes}]
    for seq, row in enumerate(rows):
        lines.append(row if "seq" in row or "seq0" in row else {**row, "seq": seq, "time": 1_000 + seq})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def message(role: str, text: str, id: str = "m", source: Row | None = None) -> Row:
    return {"id": id, "role": role, "content": [{"type": "text", "text": text}], "source": source or {"kind": "user"}}


def user(seq: int = 0, text: str = "hello") -> Row:
    return {"type": "user/message", "data": message("user", text, f"u{seq}"), "surfaceOp": "append"}


def answer(*calls: str, text: str = "", **data: Any) -> Row:
    content = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool-call", "id": id, "name": "read", "arguments": "{}"} for id in calls]
    said = message("assistant", "", "a", {"kind": "model", "provider": "p", "model": "m"}) | {"content": content}
    return {"type": "assistant/message", "data": {**PLACE, "message": said, **data}, "surfaceOp": "append"}


def call(id: str) -> Row:
    return {"type": "tool/call", "data": {**PLACE, "callId": id, "name": "read", "arguments": "{}"}}


def result(id: str, **data: Any) -> Row:
    block = {"type": "tool-result", "toolCallId": id, "content": [{"type": "text", "text": "ok"}], "isError": False}
    said = message("user", "", f"r{id}", {"kind": "tool", "callId": id}) | {"content": [block]}
    return {"type": "tool/result", "data": {**PLACE, "message": said, **data}, "surfaceOp": "append"}


def chunk(**chunk: Any) -> Row:
    return {"type": "assistant/chunk", "data": {**PLACE, "chunk": chunk}}


def opened(*rows: Row) -> list[Row]:
    """Rows inside the first step of the first turn, which stays open."""
    start: list[Row] = [{"type": "turn/start", "data": {"turn": 1}}, {"type": "step/start", "data": PLACE}]
    return [*start, *rows]


def closed(*rows: Row) -> list[Row]:
    """Rows inside the only step of the only turn."""
    return [*opened(*rows), {"type": "step/end", "data": PLACE}, turn_end()]


def turn_end(**reason: Any) -> Row:
    return {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed", **reason}}}


def step(answered: Row) -> list[Row]:
    """A turn with one call, and this result of it."""
    id = answered["data"]["message"]["source"]["callId"]
    return closed(answer(id), call(id), answered)
