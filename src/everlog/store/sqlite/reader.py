"""Reading one session of the database, with the parts that it shares with those it was forked from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from everlog.session.errors import SessionCorrupt
from everlog.store.backend import End, Torn
from everlog.store.catalog.tables import SEQ_BITS
from everlog.store.chain import START, Record, is_sound
from everlog.store.errors import SessionNotFound, StoreDamaged
from everlog.store.sqlite.schema import connect, telling_damage

_ROWS = 512
"""So many rows are fetched at a time; no read transaction is left open between."""
# What a hand has changed may be of another type than what a store wrote; its bytes are looked at all the same.
_COLUMNS = "at, CAST(seal AS BLOB), CAST(data AS BLOB)"
_MISSING = Record(b"", b"")


class Connections:
    """Connections for reading: each thread that reads borrows one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free: list[sqlite3.Connection] = []

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection. Raises StoreDamaged when what is asked of it meets damaged pages."""
        try:
            connection = self._free.pop()  # to look first whether there is one would leave room for another thread
        except IndexError:
            connection = connect(self._path)
        try:
            with telling_damage(self._path):
                yield connection
        finally:
            self._free.append(connection)

    def close(self) -> None:
        """Close those that are not lent."""
        while self._free:
            self._free.pop().close()


class Part(NamedTuple):
    """The events from seq `start` up to `stop` (None: all that come) stand under the session key `key`."""

    key: int
    start: int
    stop: int | None


def parts_of(connection: sqlite3.Connection, id: str) -> list[Part]:
    """Give where a session's events stand, in order. Raises SessionNotFound."""
    row = connection.execute("SELECT key, base, inherited FROM session WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise SessionNotFound(id)
    parts: list[Part] = []
    stop: int | None = None
    while row is not None:
        key, base, start = row
        if base is None or base >= key:  # a parent was there before its fork; what says otherwise is damaged
            base, start = None, 0
        if stop is None or start < stop:
            parts.append(Part(key, start, stop))
            stop = start
        row = connection.execute("SELECT key, base, inherited FROM session WHERE key = ?", (base,)).fetchone()
    return parts[::-1]


class SqliteReader:
    """Reads one session."""

    def __init__(self, connections: Connections, id: str) -> None:
        self._connections = connections
        self._id = id
        with connections.borrow() as connection:
            self._parts = parts_of(connection, id)
        self._key = self._parts[-1].key
        self._torn_at: int | None = None
        self.torn: Torn | None = self._look_at_end()

    @property
    def key(self) -> int:
        """Give the key of the session."""
        return self._key

    @property
    def header(self) -> bytes:
        """Give the header's JSON bytes."""
        own: bytes
        own, checksum = self._row("CAST(header AS BLOB), header_sum")
        if crc32(own) != checksum:
            raise SessionCorrupt(self._id, None, "its checksum does not match its bytes")
        return own

    def _row(self, columns: str) -> sqlite3.Row:
        with self._connections.borrow() as connection:
            row: sqlite3.Row | None = connection.execute(
                f"SELECT {columns} FROM session WHERE key = ?", (self._key,)
            ).fetchone()
        if row is None:
            raise SessionNotFound(self._id)
        return row

    def end(self) -> End:
        """Give where the log ends. Raises SessionCorrupt when what is noted as its end cannot be one."""
        next_seq, head = self._row("next_seq, head")
        if not isinstance(next_seq, int) or not 0 <= next_seq < 1 << SEQ_BITS:
            raise SessionCorrupt(self._id, None, f"it is said to have {str(next_seq)[:40]} events, which cannot be")
        if self._torn_at is not None and next_seq == self._torn_at + 1:
            return self._end_before(self._torn_at)
        return End(next_seq, head)

    def _end_before(self, seq: int) -> End:
        return End(seq, next(self.pick([seq - 1])).chain if seq else START)

    def _look_at_end(self) -> Torn | None:
        """Tell whether the last record is damaged: as nothing comes after it, it counts as torn."""
        try:
            last = self.end().next_seq - 1
        except SessionCorrupt:  # whoever asks for the end is told
            return None
        if last < self._parts[-1].start:
            return None
        record = next(self.pick([last]))
        if is_sound(*record):
            return None
        self._torn_at = last
        return Torn(len(record.data), f"the checksum of event {last}, the last, is wrong")

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Give the records from `start` up to `stop`."""
        for part in self._parts:
            until = stop if part.stop is None else min(stop, part.stop)
            yield from self._read_part(part.key << SEQ_BITS, max(start, part.start), until)

    def _read_part(self, base: int, start: int, stop: int) -> Iterator[Record]:
        while start < stop:
            upto = min(start + _ROWS, stop)
            found = self._rows(base + start, base + upto)
            for at in range(base + start, base + upto):
                yield found.get(at, _MISSING)
            start = upto

    def _rows(self, first: int, stop: int) -> dict[int, Record]:
        """Give the records of consecutive keys; those that the database cannot give are left out."""
        query = f"SELECT {_COLUMNS} FROM event WHERE at >= ? AND at < ?"
        try:
            with self._connections.borrow() as connection:
                return {at: Record(data, seal) for at, seal, data in connection.execute(query, (first, stop))}
        except StoreDamaged:
            if stop - first == 1:
                return {}
            middle = (first + stop) // 2
            return {**self._rows(first, middle), **self._rows(middle, stop)}

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs."""
        for start in range(0, len(seqs), _ROWS):
            keys = [self._at(seq) for seq in seqs[start : start + _ROWS]]
            found = self._rows(keys[0], keys[0] + 1) if len(keys) == 1 else self._chosen(keys)
            for at in keys:
                yield found.get(at, _MISSING)

    def _at(self, seq: int) -> int:
        for part in reversed(self._parts):
            if seq >= part.start:
                return (part.key << SEQ_BITS) + seq
        raise IndexError(seq)

    def _chosen(self, keys: list[int]) -> dict[int, Record]:
        query = f"SELECT {_COLUMNS} FROM event WHERE at IN (SELECT value FROM json_each(?))"
        try:
            with self._connections.borrow() as connection:
                rows = connection.execute(query, (msgspec.json.encode(keys).decode(),))
                return {at: Record(data, seal) for at, seal, data in rows}
        except StoreDamaged:
            return {at: record for key in keys for at, record in self._rows(key, key + 1).items()}

    def everything(self) -> Iterator[Record]:
        """Give every record of the session and of what it shares."""
        query = "SELECT at FROM event WHERE at >= ? AND at < ? ORDER BY at"
        for part in self._parts:
            base = part.key << SEQ_BITS
            stop = base + (part.stop if part.stop is not None else 1 << SEQ_BITS)
            with self._connections.borrow() as connection:
                keys = [at for (at,) in connection.execute(query, (base + part.start, stop))]
            for start in range(0, len(keys), _ROWS):
                yield from self._chosen(keys[start : start + _ROWS]).values()

    def strays(self) -> Iterator[tuple[int, str]]:
        """Give the events that are stored behind the end."""
        base = self._key << SEQ_BITS
        end = self._row("next_seq")[0]
        query = "SELECT at FROM event WHERE at >= ? AND at < ? ORDER BY at"
        with self._connections.borrow() as connection:
            found = connection.execute(query, (base + end, base + (1 << SEQ_BITS))).fetchall()
        for (at,) in found:
            yield at - base, f"a record at seq {at - base}, behind the end of the log"

    def checkpoints(self) -> Iterator[tuple[int, bytes]]:
        """Give the checkpoints, the newest first, those of a part that is shared too."""
        query = "SELECT at, data FROM checkpoint WHERE at >= ? AND at < ? ORDER BY at DESC LIMIT 1"
        for part in reversed(self._parts):
            base = part.key << SEQ_BITS
            first, until = base + part.start, base + (part.stop if part.stop is not None else 1 << SEQ_BITS)
            while True:
                try:
                    with self._connections.borrow() as connection:
                        row = connection.execute(query, (first, until)).fetchone()
                except (StoreDamaged, sqlite3.DatabaseError):
                    break
                if row is None:
                    break
                until, data = row
                yield until - base, data

    def close(self) -> None:
        """Do nothing: connections are the store's."""
