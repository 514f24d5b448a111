"""A file of another program, read a record at a time: it may be larger than what one wants in memory at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from everlog.interop.bundles import Bundle, bundle_of
from everlog.interop.dsh.jsontext import encode_parsed, parse
from everlog.session.jsonvalue import scrub

Source: TypeAlias = "str | PathLike[str] | bytes"
Record: TypeAlias = "dict[str, Any]"

HEAD_BYTES = 1024 * 1024
"""By so much of a file its form is told."""

_PIECE = 1024 * 1024
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},"]', re.DOTALL)


class Unreadable(Exception):
    """A record that is no JSON object; `text` is what stands there."""

    def __init__(self, text: str) -> None:
        super().__init__(text[:80])
        self.text = text


class Document:
    """A file, the bytes of one, or a folder or a zip archive of files with one record each."""

    def __init__(self, source: Source) -> None:
        self._bytes = source if isinstance(source, bytes) else None
        self._path = None if isinstance(source, bytes) else Path(source)

    @cached_property
    def bundle(self) -> Bundle | None:
        """The files that a folder or an archive holds; None for another file. Raises OSError."""
        return bundle_of(self._path or self._bytes or b"")

    def head(self) -> bytes:
        """Give its first bytes, at most `HEAD_BYTES`; of a bundle, those of its first record. Raises OSError."""
        if self.bundle is not None:
            return self.bundle.events[0].read()[:HEAD_BYTES] if self.bundle.events else b""
        if self._bytes is not None:
            return self._bytes[:HEAD_BYTES]
        assert self._path is not None
        with self._path.open("rb") as file:
            return file.read(HEAD_BYTES)

    def data(self) -> bytes:
        """Give all its bytes. Raises OSError."""
        if self._bytes is not None:
            return self._bytes
        assert self._path is not None
        return self._path.read_bytes()

    def texts(self) -> Iterator[bytes]:
        """Give the JSON text of each record: of a line, an element of an array, or a file of a bundle.

        Raises OSError.
        """
        if self.bundle is not None:
            yield from (member.read() for member in self.bundle.events)
        elif self.head().lstrip()[:1] == b"[":
            yield from elements(self._pieces())
        else:
            yield from (line for line in self._lines() if line.strip())

    def records(self) -> Iterator[Record | Unreadable]:
        """Give the records in order; what is none, as a line that was cut short, is given as `Unreadable`."""
        for text in self.texts():
            yield record_of(text)

    def _lines(self) -> Iterator[bytes]:
        if self._bytes is not None:
            yield from self._bytes.split(b"\n")  # not at a carriage return, as of a file
            return
        assert self._path is not None
        with self._path.open("rb") as file:
            yield from file

    def _pieces(self) -> Iterator[bytes]:
        if self._bytes is not None:
            yield self._bytes
            return
        assert self._path is not None
        with self._path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece


def record_of(text: bytes) -> Record | Unreadable:
    """Read the JSON object of one record."""
    try:
        value = parse(text)
        if isinstance(value, dict):
            encode_parsed(value)
            return value
    except ValueError:
        pass
    return Unreadable(scrub(text.decode("utf-8", "replace").strip()))


def elements(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Give the text of each element of one JSON array that comes in pieces; the last may be cut short."""
    held, start, at, depth = b"", -1, 0, 0
    for piece in chain(pieces, [None]):
        held = held + piece if piece is not None else held
        for found in _TOKEN.finditer(held, at):
            token = found[0]
            if token == b'"':  # a string that goes on in the next piece
                break
            at = found.end()
            if token in b"[{":
                depth += 1
                start = at if depth == 1 else start
            elif token in b"]}" or (token == b"," and depth == 1):
                depth -= token != b","
                if depth < 2 and start >= 0 and (depth == 0 or token == b","):
                    if text := held[start : found.start()].strip():
                        yield text
                    start = at if depth else -1
        if start > 0:
            held, at, start = held[start:], at - start, 0
    if start >= 0 and (rest := held[start:].strip()):
        yield rest
