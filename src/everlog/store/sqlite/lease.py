"""The right to write one session of the database: an OS lock, and an epoch that fences every append."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, count
from typing import Literal

import msgspec

from everlog.session.header import now_ms
from everlog.store.backend import End, Torn
from everlog.store.catalog.tables import SEQ_BITS
from everlog.store.chain import Batch
from everlog.store.errors import BatchRefused, LeaseLost
from everlog.store.oslock import FileLock
from everlog.store.spacing import crowded

_ADVANCE = """
UPDATE session SET next_seq = ?, head = ?, used_at = ?, used = (SELECT max(used) + 1 FROM session),
    title = coalesce(?, title), preview = coalesce(preview, ?)
WHERE key = ? AND epoch = ? AND next_seq = ? AND head = ? AND id IS NOT NULL AND trashed_at IS NULL
"""
# One statement for the whole batch: the rows are cut from two blobs while no lock of the interpreter is held.
_INSERT = """
INSERT INTO event (at, seal, data)
SELECT ? + key, substr(?, key * 24 + 1, 24), substr(?, (value >> 24) + 1, value & 16777215) FROM json_each(?)
"""
_INSERT_ONE = "INSERT INTO event (at, seal, data) VALUES (?, ?, ?)"
_LONGEST = (1 << 24) - 1


class Database:
    """The connection that writes. Used by the writer thread only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._synchronous = ""
        self._doubtful = False

    @contextmanager
    def transaction(self, synchronous: Literal["NORMAL", "FULL"] = "FULL") -> Iterator[sqlite3.Connection]:
        """Begin a transaction that commits at the end, and rolls back when something is raised."""
        connection = self.connection
        self._settle_doubt()
        if synchronous != self._synchronous:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            self._doubtful = True
            connection.execute("COMMIT")
            self._doubtful = False
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _settle_doubt(self) -> None:
        """After a commit that failed, maybe in its sync, move everything before it out of the write-ahead log.

        A system may count what a failed sync left behind as written. Moved into the database it is written, and
        synced, once more.
        """
        if not self._doubtful:
            return
        busy, _, _ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise sqlite3.OperationalError("the write-ahead log is in use; it is settled when nobody reads")
        self._doubtful = False


class SqliteLease:
    """Writes one session until it is released, or another epoch begins."""

    def __init__(self, database: Database, lock: FileLock, id: str, key: int, epoch: int, end: End) -> None:
        self._database = database
        self._lock = lock
        self._id = id
        self._key = key
        self._epoch = epoch
        self._end = end
        self.torn: Torn | None = None

    @property
    def session(self) -> str:
        """Give the id of the session."""
        return self._id

    @property
    def key(self) -> int:
        """Give the key of the session."""
        return self._key

    @property
    def end(self) -> End:
        """Give where the log ends."""
        return self._end

    def append(self, batch: Batch) -> None:
        """Store a batch, committed but not synced."""
        self._append(batch, "NORMAL")

    def append_synced(self, batch: Batch) -> None:
        """Store a batch; its commit syncs it and all before it."""
        self._append(batch, "FULL")

    def _append(self, batch: Batch, synchronous: Literal["NORMAL", "FULL"]) -> None:
        self._fence(batch)
        with self._database.transaction(synchronous) as connection:
            values = (batch.next_seq, batch.head, now_ms(), batch.title, batch.preview)
            at = (self._key, self._epoch, batch.first_seq, batch.before)
            if connection.execute(_ADVANCE, values + at).rowcount != 1:
                raise self._refusal(connection, batch)
            self._insert(connection, batch)
        self._end = End(batch.next_seq, batch.head)

    def _fence(self, batch: Batch) -> None:
        if batch.session != self._id:
            raise BatchRefused(self._id, batch.first_seq, self._end.next_seq, f"it belongs to {batch.session}")
        if not self._lock.intact:
            raise LeaseLost(self._id, "its lock was taken away or given back")

    def _insert(self, connection: sqlite3.Connection, batch: Batch) -> None:
        first = (self._key << SEQ_BITS) + batch.first_seq
        sizes = list(map(len, batch.data))
        if max(sizes, default=0) > _LONGEST:
            rows = zip(count(first), batch.seals, batch.data, strict=False)
            connection.executemany(_INSERT_ONE, rows)
            return
        starts = accumulate(sizes, initial=0)
        cuts = msgspec.json.encode([start << 24 | size for start, size in zip(starts, sizes, strict=False)]).decode()
        connection.execute(_INSERT, (first, b"".join(batch.seals), b"".join(batch.data), cuts))

    def _refusal(self, connection: sqlite3.Connection, batch: Batch) -> LeaseLost | BatchRefused:
        row = connection.execute(
            "SELECT id, epoch, next_seq, trashed_at FROM session WHERE key = ?", (self._key,)
        ).fetchone()
        if row is None or row[0] is None or row[3] is not None:
            return LeaseLost(self._id, "the session was deleted")
        if row[1] != self._epoch:
            return LeaseLost(self._id, "another writer took it over")
        return BatchRefused(self._id, batch.first_seq, row[2])

    def sync(self) -> None:
        """Commit a little of our own, whose sync covers everything before it."""
        with self._database.transaction("FULL") as connection:
            connection.execute("UPDATE flush SET count = count + 1")

    def save_checkpoint(self, seq: int, data: bytes) -> None:
        """Keep a checkpoint, and of the older ones those that stand well apart, for forks."""
        base = self._key << SEQ_BITS
        with self._database.transaction("NORMAL") as connection:
            connection.execute("INSERT OR REPLACE INTO checkpoint VALUES (?, ?)", (base + seq, data))
            seqs = [
                at - base
                for (at,) in connection.execute(
                    "SELECT at FROM checkpoint WHERE at >= ? AND at < ? ORDER BY at", (base, base + (1 << SEQ_BITS))
                )
            ]
            for gone in crowded(seqs):
                connection.execute("DELETE FROM checkpoint WHERE at = ?", (base + gone,))

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()
