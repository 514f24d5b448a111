"""The accepted prefix of a file: which of its rows count, and from where on it is a torn tail.

A row counts when its line is complete, is JSON, and has the next seq. The first line that fails one of
these ends the prefix: what follows was written by a process that did not finish, and is dropped. But a
`turn/end` on a complete line, at the failing line or anywhere after it, proves that the failing line had
been finished too; then the file is damaged. A line that is JSON `null` is damage wherever the prefix
reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from everlog.interop.dsh.errors import LogDamaged
from everlog.interop.dsh.header import read_header_line
from everlog.interop.dsh.jsontext import parse
from everlog.interop.dsh.packed import PACKED, unpack
from everlog.interop.dsh.rows import Row, type_of


@dataclass(frozen=True)
class Prefix:
    """What counts of a file.

    Attributes:
        header: the header line as a JSON object.
        rows: the rows, packed ones unpacked; `rows[i]["seq"] == i`.
        length: the length in bytes of the text that was accepted.
    """

    header: dict[str, Any]
    rows: list[Row]
    length: int


def accepted(text: bytes) -> Prefix:
    """Give the prefix of a file's text that counts.

    Raises:
        LogDamaged: there is no header, or a row before a completed turn's end does not count.
        VersionUnsupported: the version is not read.
    """
    end = text.find(b"\n") + 1
    if not end:
        raise LogDamaged("?", None, "the file is empty or has no complete header line")
    header = read_header_line(text[: end - 1])
    rows: list[Row] = []
    for number, (line, stop) in enumerate(_lines(text, end), start=1):
        if line.strip(b" \t\r") == b"null":
            raise LogDamaged(header["id"], len(rows), f"line {number} holds no row but null")
        fault = _take(line, rows)
        if fault is not None:
            if _ends_a_turn(text, end):
                raise LogDamaged(header["id"], len(rows), f"line {number}, which a later turn/end follows, {fault}")
            break
        end = stop
    return Prefix(header, rows, end)


def _lines(text: bytes, start: int) -> Iterator[tuple[bytes, int]]:
    """Give each complete line from `start` on, without its end, and where the next one begins."""
    while (stop := text.find(b"\n", start) + 1) > 0:
        yield text[start : stop - 1], stop
        start = stop


def _take(line: bytes, rows: list[Row]) -> str | None:
    """Add the rows of a line, or say why they do not count."""
    try:
        found = parse(line)
        new = _rows_of(found)
    except ValueError:
        return "is not a row"
    seq = new[0].get("seq")
    if type(seq) is not int or seq != len(rows):
        return f"has seq {seq}, not {len(rows)}"
    rows += new
    return None


def _rows_of(found: object) -> list[Row]:
    if not isinstance(found, dict):
        raise ValueError("a row is an object")
    return unpack(found) if type_of(found) in PACKED else [found]


def _ends_a_turn(text: bytes, start: int) -> bool:
    """Tell whether a complete line from `start` on is a `turn/end`, whatever else is wrong with it."""
    for line, _ in _lines(text, start):
        try:
            found = parse(line)
        except ValueError:
            continue
        if isinstance(found, dict) and found.get("type") == "turn/end":
            return True
    return False
