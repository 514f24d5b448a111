"""Reading a session of DeepSeek Harness: a file's bytes to a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from everlog.interop.dsh.admission import admitted, replace_ends
from everlog.interop.dsh.errors import LogDamaged
from everlog.interop.dsh.frames import MAGIC, contents, frame_end
from everlog.interop.dsh.header import session_header
from everlog.interop.dsh.jsontext import encode_parsed, parse
from everlog.interop.dsh.prefix import accepted
from everlog.interop.dsh.recording import DshRecording
from everlog.interop.dsh.rows import Row, type_of
from everlog.interop.dsh.translation import Attempts, data_here, op_here, type_here, with_records
from everlog.session.event import Event, read_event
from everlog.session.vocabulary import CORE, Vocabulary


def read(
    path_or_bytes: str | PathLike[str] | bytes | bytearray | memoryview, vocabulary: Vocabulary = CORE
) -> DshRecording:
    """Read a session of DeepSeek Harness, version 0, 2, 3 or 4, plain or as Zstandard frames.

    Each event keeps its seq; a packed row becomes one chunk event per delta. A torn tail is left out, and
    `committed_bytes` says where it begins. Events that break a rule of ours are taken all the same; the
    recording's `violations` lists them. `vocabulary` is what events are typed and judged by.

    Raises:
        OSError: the file cannot be read.
        SessionCorrupt: the header, or an event of the accepted part, is not one that the program reads.
        FormatUnsupported: the version is not read, or an event of an unknown type may not be skipped.
        CompressionUnavailable: the file is compressed and `zstandard` is not installed.
    """
    if isinstance(path_or_bytes, bytes | bytearray | memoryview):
        data = bytes(path_or_bytes)
    else:
        data = Path(path_or_bytes).read_bytes()
    file = contents(data)
    prefix = accepted(file.text)
    rows = admitted(prefix)
    version = prefix.header["version"]
    try:
        header = session_header(prefix.header, _marked(rows))
    except ValueError as error:
        raise LogDamaged(prefix.header["id"], None, str(error)) from None
    committed = file.file_bytes(prefix.length)
    events = _events(rows, header.id, version, vocabulary)
    return DshRecording(header, events, version, committed, len(data) - committed, vocabulary)


def is_compressed(head: bytes) -> bool:
    """Tell whether a file that begins so is compressed; then `is_log` needs all of its first frame."""
    return head.startswith(MAGIC)


def is_log(data: bytes) -> bool:
    """Tell whether the bytes begin as a file of that program does, of whatever version."""
    first = contents(data[: frame_end(data, 0) or 0]).text if data.startswith(MAGIC) else data
    try:
        found = parse(first.partition(b"\n")[0])
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("type") == "session" and "version" in found


def _marked(rows: Iterable[Row]) -> list[int]:
    """Give the seqs of rows that the file itself marks as ones to skip."""
    return [row["seq"] for row in rows if row.get("ignorable") is True]


def _events(rows: Iterable[Row], session: str, version: int, vocabulary: Vocabulary) -> Iterator[Event]:
    attempts, ends = Attempts(), replace_ends(version)
    for row in rows:
        if version >= 2 and type_of(row) in ("assistant/message", "assistant/attempt"):
            row = {**row, "data": with_records(row["data"])}
        try:
            yield read_event(encode_parsed(_event(row, attempts, ends)), vocabulary)
        except ValueError as error:
            raise LogDamaged(session, row["seq"], str(error)) from None


def _event(row: Row, attempts: Attempts, ends: tuple[str, str]) -> dict[str, Any]:
    """Give the stored form of our event for a row."""
    type = type_here(type_of(row))
    event = {**row, "type": type, "data": data_here(type, row["data"], attempts.at(type), row["time"])}
    if "surfaceOp" in row:
        event["surfaceOp"] = op_here(row["surfaceOp"], ends)
    if type not in CORE:
        event["ignorable"] = True
    return event
