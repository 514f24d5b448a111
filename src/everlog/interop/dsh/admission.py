"""What that program demands of the rows of an accepted prefix before it reads a session, in its order.

Retired types first; then, row by row, older shapes and the shape of messages; then types that nobody
knows; then envelopes and request headers. None of this looks at how the events stand to each other: that is
what our rules judge, and what a recording lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from everlog.interop.dsh.errors import LogDamaged, UnknownEvent
from everlog.interop.dsh.jsontext import encode_parsed, is_count, is_integer
from everlog.interop.dsh.older import upgrade
from everlog.interop.dsh.prefix import Prefix
from everlog.interop.dsh.rows import Row, type_of
from everlog.interop.dsh.vocabulary import OWN, RETIRED
from everlog.session.payloads import RequestHeader
from everlog.session.reading import reader
from everlog.session.shapes import header


def admitted(prefix: Prefix) -> list[Row]:
    """Give the rows of a prefix in the present form of their version.

    Raises:
        LogDamaged: a row is of a retired or malformed kind.
        UnknownEvent: a row is of an unknown type that may not be skipped.
    """
    session, version = prefix.header["id"], prefix.header["version"]
    _refuse_retired(prefix.rows, session)
    rows = _in_present_form(prefix)
    for row in rows:
        if type_of(row) not in OWN and row.get("ignorable") is not True:
            raise UnknownEvent(session, type_of(row), row["seq"])
    for row in rows:
        _refuse(session, row, _envelope_fault(row, version) or _header_fault(row))
    return rows


def _refuse(session: str, row: Row, fault: str | None) -> None:
    if fault is not None:
        raise LogDamaged(session, row["seq"], f"{type_of(row)}: {fault}")


def _refuse_retired(rows: Iterable[Row], session: str) -> None:
    for row in rows:
        data = row.get("data")
        fallback = type_of(row) == "request/header" and isinstance(data, dict) and data.get("reason") == "fallback"
        if type_of(row) in RETIRED or fallback:
            _refuse(session, row, "a retired form that is no longer read")


def _in_present_form(prefix: Prefix) -> list[Row]:
    session, present = prefix.header["id"], list[Row]()

    def row_at(seq: object) -> Row | None:
        return present[seq] if type(seq) is int and 0 <= seq < len(present) else None

    for row in prefix.rows:
        try:
            present.append(upgrade(row, session, row_at) if prefix.header["version"] == 0 else row)
        except ValueError as error:
            _refuse(session, row, str(error))
        _refuse(session, present[-1], _message_fault(present[-1]))
    return present


_ROLES = {
    "user/message": "user",
    "assistant/message": "assistant",
    "tool/result": "user",
    "system/message": "system",
    "developer/message": "developer",
}


def _message_fault(row: Row) -> str | None:
    """Say what is wrong with the message of a row that holds one."""
    role = _ROLES.get(type_of(row))
    if role is None:
        return None
    data = row.get("data")
    message = data.get("message") if isinstance(data, dict) and type_of(row) != "user/message" else data
    if not isinstance(message, dict) or not isinstance(message.get("id"), str):
        return "the message has no id"
    if message.get("role") != role:
        return f"the message must have role {role}"
    content, source = message.get("content"), message.get("source")
    if not isinstance(content, list) or not all(_has(block, "type") for block in content):
        return "the content is not an array of blocks"
    if not _has(source, "kind"):
        return "the source has no kind"
    if role == "assistant" and not _is_model(source):
        return "the message must have a model source"
    if type_of(row) == "tool/result" and not _is_result(content):
        return "the message must hold one tool-result block"
    return None


def _has(value: object, key: str) -> bool:
    return isinstance(value, dict) and isinstance(value.get(key), str)


def _is_model(source: Any) -> bool:
    return source["kind"] == "model" and _has(source, "provider") and _has(source, "model")


def _is_result(content: list[Any]) -> bool:
    if len(content) != 1 or content[0]["type"] != "tool-result":
        return False
    return _has(content[0], "toolCallId") and isinstance(content[0].get("content"), list)


def _envelope_fault(row: Row, version: int) -> str | None:
    """Say what is wrong with the envelope of a row; its seq was looked at with its line."""
    if "data" not in row or not is_integer(row.get("time")):
        return "an event has data, and a whole number as its time"
    if "ignorable" in row and row["ignorable"] is not True:
        return "ignorable is true or absent"
    if "surfaceOp" in row and row["surfaceOp"] != "append" and not _is_replace(row["surfaceOp"], version):
        return "the surfaceOp is neither append nor a replace"
    sources = row.get("sourceEventSeqs", [])
    if not isinstance(sources, list) or not all(map(is_count, sources)):
        return "the sourceEventSeqs are not an array of seqs"
    return None


def replace_ends(version: int) -> tuple[str, str]:
    """Give the names of the two ends of a replace in a version."""
    return ("startSeq", "endSeq") if version >= 3 else ("start", "end")


def _is_replace(op: object, version: int) -> bool:
    start, end = replace_ends(version)
    if not isinstance(op, dict) or op.keys() != {"op", start, end}:
        return False
    return op["op"] == "replace" and is_count(op[start]) and is_count(op[end])


def _header_fault(row: Row) -> str | None:
    """Say what is wrong with the header of a `request/header`."""
    if type_of(row) != "request/header":
        return None
    data = row["data"]
    try:
        header(reader(RequestHeader).read(encode_parsed(data.get("header") if isinstance(data, dict) else None)))
    except ValueError as error:
        return str(error)
    return None
