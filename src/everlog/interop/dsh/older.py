"""Event shapes from before version 0 had its present form, and what they become.

Each upgrade looks at one row and gives the row of the present form, or the row itself when it has that form
already. A row that has neither form raises ValueError. What the upgrade does not name is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everlog.interop.dsh.jsontext import is_count
from everlog.interop.dsh.rows import Row

RowAt = Callable[[object], Row | None]
"""Gives the upgraded row with a seq, or None."""


def upgrade(row: Row, session: str, row_at: RowAt) -> Row:
    """Give a row in its present form.

    Raises:
        ValueError: the row has neither its present form nor an older one.
    """
    match row.get("type"):
        case "turn/start":
            return _with_data(row, _turn_start(row.get("data")))
        case "turn/end":
            return _with_data(row, _turn_end(row.get("data")))
        case "steering/message":
            return {**row, "type": "user/message", "data": _steering(row, session)}
        case "user/message":
            return _with_data(row, _user_message(row, session))
        case "assistant/message":
            return _with_data(row, _assistant_message(row, session))
        case "tool/result":
            return _with_data(row, _tool_result(row, session, row_at))
        case _:
            return row


def _with_data(row: Row, data: object) -> Row:
    return row if data is row.get("data") else {**row, "data": data}


def _id(row: Row, session: str) -> str:
    return f"legacy-message:{session}:{row['seq']}"


def _object(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ValueError("the data is not an object")
    return data


def _turn_start(data: object) -> dict[str, Any]:
    """`{turn, trigger}` becomes `{turn}`."""
    found = _object(data)
    if "trigger" not in found:
        return found
    trigger = found["trigger"]
    if found.keys() != {"turn", "trigger"} or not isinstance(trigger, dict) or "kind" not in trigger:
        raise ValueError("a turn/start with a trigger has turn and trigger.kind, and nothing else")
    return {"turn": found["turn"]}


def _turn_end(data: object) -> dict[str, Any]:
    found = _object(data)
    reason = found.get("reason")
    if found.keys() != {"turn", "reason"} or not is_count(found["turn"]) or not found["turn"]:
        raise ValueError("a turn/end has a turn, from 1, a reason, and nothing else")
    if not isinstance(reason, dict) or not isinstance(reason.get("kind"), str):
        raise ValueError("a reason has a kind")
    upgraded = _reason(reason)
    return found if upgraded is reason else {**found, "reason": upgraded}


def _reason(reason: dict[str, Any]) -> dict[str, Any]:
    match reason:
        case {"kind": "aborted", "reason": dict(), **others}:
            given: dict[str, Any] = reason
        case {"kind": "aborted", **others}:
            given = {"kind": "aborted", "reason": {"kind": "legacy"}}
        case {"kind": "disposed", **others}:
            given = {"kind": "aborted", "reason": {"kind": "disposed"}}
        case {"kind": "error", "error": dict(), **others}:
            given = reason
        case {"kind": "error", "step": step, "failure": dict() as failure, **others} if is_count(step):
            given = {"kind": "error", "error": failure}
        case {"kind": "error", "step": step, "message": str() as text, **others} if is_count(step):
            code = others.pop("code", "UNKNOWN")
            if not isinstance(code, str):
                raise ValueError("the code of a failure is a string")
            given = {"kind": "error", "error": {"message": text, "code": code}}
        case {"kind": "error"}:
            raise ValueError("a turn that ended in an error holds the error")
        case {"kind": "completed" | "max-tokens" | "blocked" | "interrupted", **others}:
            given = reason
        case _:
            return reason  # a kind that is not known passes with all it has
    if others:
        raise ValueError(f"a reason of kind {reason['kind']} has other keys: {', '.join(others)}")
    return given


def _steering(row: Row, session: str) -> dict[str, Any]:
    """What steered a running turn was no user message yet."""
    match row.get("data"):
        case {"turn": _, "message": dict() as message, **others} if not others:
            return message
        case {"turn": _, "content": content, "source": source, **others} if not others:
            return {"content": content, "source": source, "id": _id(row, session), "role": "user"}
        case _:
            raise ValueError("a steering/message has a turn and a message, or its content and source")


def _user_message(row: Row, session: str) -> dict[str, Any]:
    """Messages had neither id nor role."""
    found = _object(row.get("data"))
    if "id" in found or "role" in found:
        return found
    return {**found, "id": _id(row, session), "role": "user"}


def _assistant_message(row: Row, session: str) -> dict[str, Any]:
    """The message lay flat in the data, its source as `provenance`."""
    found = _object(row.get("data"))
    if "message" in found or "provenance" not in found:
        return found
    rest = dict(found)
    content, provenance = rest.pop("content", None), rest.pop("provenance")
    if not isinstance(provenance, dict):
        raise ValueError("the provenance is not an object")
    message = {
        "id": _id(row, session),
        "role": "assistant",
        "content": content,
        "source": {**provenance, "kind": "model"},
    }
    return {**rest, "message": message}


def _tool_result(row: Row, session: str, row_at: RowAt) -> dict[str, Any]:
    """The result block lay flat in the data; a replacement has the id of what it replaces."""
    found = _object(row.get("data"))
    if "message" in found or "callId" not in found:
        return found
    rest = dict(found)
    call_id = rest.pop("callId")
    block = {"type": "tool-result", "toolCallId": call_id}
    block |= {key: rest.pop(key) for key in ("content", "isError") if key in rest}
    message = {
        "id": _replaced_id(row, row_at) or _id(row, session),
        "role": "user",
        "content": [block],
        "source": {"kind": "tool", "callId": call_id},
    }
    return {**rest, "message": message}


def _replaced_id(row: Row, row_at: RowAt) -> str | None:
    op = row.get("surfaceOp")
    if not isinstance(op, dict):
        return None
    replaced = row_at(op.get("start"))
    data = replaced.get("data") if replaced is not None else None
    message = data.get("message") if isinstance(data, dict) else None
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else None
