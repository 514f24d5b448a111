"""Changes stored sessions behind the back of their store, as a bad disk, an editor, or an attacker does."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from everlog.store.catalog.tables import SEQ_BITS
from everlog.store.jsonl.framed import FramedLog, _frame
from everlog.store.jsonl.lines import seq_of
from everlog.store.urls import path_of

Rows = list[bytes]
"""One for each event, in the order in which they are stored; in SQLite, seals and data joined."""


class Tampering(Protocol):
    """Rewrites the events of the one session of a store."""

    def rewrite(self, change: Callable[[Rows], Rows]) -> None: ...


def tampering(url: str) -> Tampering:
    """Give what tampers with the one session of the store of a URL."""
    if url.startswith("sqlite"):
        return TamperedDatabase(path_of(url))
    return TamperedLines(log_file(url))


def log_file(url: str) -> Path:
    """Give the log file of the one session of a JSONL store."""
    (found,) = path_of(url).glob("sessions/*/events.*")
    return found


class TamperedLines:
    """A log of lines, plain or in frames."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def rewrite(self, change: Callable[[Rows], Rows]) -> None:
        header, *rows = self._lines()
        lines = [header, *change(rows)]
        if self._path.suffix == ".zst":
            self._path.write_bytes(b"".join(self._frames(lines)))
        else:
            self._path.write_bytes(b"\n".join(lines) + b"\n")

    def _lines(self) -> Rows:
        if self._path.suffix != ".zst":
            return self._path.read_bytes().split(b"\n")[:-1]
        with closing(FramedLog(os.open(self._path, os.O_RDONLY))) as log:
            return b"".join(log.blocks()).split(b"\n")[:-1]

    def _frames(self, lines: Rows) -> Iterator[bytes]:
        """As a compressor would write them that knows nothing of what it compresses: five lines to a frame."""
        yield _frame(0, 0, lines[0] + b"\n")
        starts = [*range(1, len(lines), 5), len(lines)]
        for start, stop in pairwise(starts):
            first = seq_of(lines[start])
            yield _frame(start - 1 if first is None else first, stop - start, b"\n".join(lines[start:stop]) + b"\n")


class TamperedDatabase:
    """The table of events."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def rewrite(self, change: Callable[[Rows], Rows]) -> None:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            rows = connection.execute("SELECT at, seal, data FROM event ORDER BY at").fetchall()
            changed = change([seal + data for _, seal, data in rows])
            first = rows[0][0] >> SEQ_BITS << SEQ_BITS
            connection.execute("DELETE FROM event")
            connection.executemany(
                "INSERT INTO event VALUES (?, ?, ?)",
                [(first + seq, row[:24], row[24:]) for seq, row in enumerate(changed) if row],
            )
