"""Writing a session back as a version 0 file of DeepSeek Harness."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, cast

from everlog.interop.dsh.admission import replace_ends
from everlog.interop.dsh.errors import NotWritable
from everlog.interop.dsh.header import kept_header, marked_seqs
from everlog.interop.dsh.translation import data_there, op_there, type_there
from everlog.interop.dsh.vocabulary import OWN
from everlog.session.event import Event
from everlog.session.jsonvalue import JSONObject, decode, encode
from everlog.session.log import Log


def write(log: Log, path: str | PathLike[str]) -> None:
    """Write a log that came from a version 0 file as such a file: equal events at equal seqs.

    The file is written beside its place and then moved there, private to the user.

    Raises:
        FormatUnsupported: the log did not come from version 0, or holds an event that it cannot say.
        OSError: the file cannot be written.
    """
    lines = b"".join(_lines(log))
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _lines(log: Log) -> Iterator[bytes]:
    header = kept_header(log.header)
    if header is None or header.get("version") != 0:
        raise NotWritable(log.id, "it did not come from one")
    yield encode(header) + b"\n"
    marked = marked_seqs(log.header)
    for event in log.events:
        try:
            yield encode(_row(event, event.seq in marked)) + b"\n"
        except ValueError as error:
            raise NotWritable(log.id, f"seq {event.seq}, {event.type}, holds {error}") from None


def _row(event: Event, marked: bool) -> dict[str, Any]:
    row = cast("JSONObject", decode(event.to_json()))
    type = type_there(event.type)
    if type not in OWN and not marked:
        raise ValueError("what that program has no event for")
    row |= {"type": type, "data": data_there(event.type, row["data"])}
    if "surfaceOp" in row:
        row["surfaceOp"] = op_there(row["surfaceOp"], replace_ends(0))
    if not marked:
        row.pop("ignorable", None)
    return row
