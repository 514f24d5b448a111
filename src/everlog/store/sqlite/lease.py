"""The right to write one session of the database: an OS lock, and an epoch that fences every append."""

from __future__ import annotations

import sqlite3
from itertools import accumulate

import msgspec

from everlog.session.header import now_ms
from everlog.store.backend import End, Summary, Torn
from everlog.store.catalog.placing import place
from everlog.store.catalog.tables import SEQ_BITS
from everlog.store.chain import Batch
from everlog.store.errors import BatchRefused, LeaseLost
from everlog.store.oslock import FileLock
from everlog.store.spacing import crowded
from everlog.store.sqlite.database import FENCED, SIZE_BITS, STORE, Database, Synchronous

_PAGES_AROUND = 4 * 4096


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

    def _append(self, batch: Batch, synchronous: Synchronous) -> None:
        self._fence(batch)
        try:
            values = self._values(batch)
            self._database.run(STORE, values, _size(values), synchronous)
        except sqlite3.IntegrityError as error:
            if str(error) != FENCED:
                raise
            raise self._refusal(batch) from None
        self._end = End(batch.next_seq, batch.head)

    def _fence(self, batch: Batch) -> None:
        if batch.session != self._id:
            raise BatchRefused(self._id, batch.first_seq, self._end.next_seq, f"it belongs to {batch.session}")
        if not self._lock.held:  # whether another took it over, the epoch tells
            raise LeaseLost(self._id, "it was given back")

    def _values(self, batch: Batch) -> tuple[object, ...]:
        """Give the row for the statement."""
        data = batch.data
        sizes = list(map(len, data))
        cuts = [start << SIZE_BITS | size for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False)]
        place = (self._key, self._epoch, batch.first_seq, batch.before)
        shown = (batch.next_seq, batch.head, now_ms(), batch.title, batch.preview)
        rows = ((self._key << SEQ_BITS) + batch.first_seq, b"".join(batch.seals), b"".join(data))
        return (*place, *shown, *rows, msgspec.json.encode(cuts).decode())

    def _refusal(self, batch: Batch) -> LeaseLost | BatchRefused:
        row = self._database.connection.execute(
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

    def show_as(self, seen: Summary) -> None:
        """Take over what lists show; the next commit that is synced makes it durable."""
        if not self._lock.held:
            raise LeaseLost(self._id, "it was given back")
        with self._database.transaction("NORMAL") as connection:
            shown = (seen.title, seen.preview, self._key, self._epoch)
            row = "UPDATE session SET title = ?, preview = ? WHERE key = ? AND epoch = ? AND id IS NOT NULL"
            if connection.execute(row, shown).rowcount != 1:
                raise LeaseLost(self._id, "another writer took it over, or it was deleted")
            place(connection, self._key, seen.updated_at)

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


def _size(values: tuple[object, ...]) -> int:
    """Give about how many bytes a batch takes in the write-ahead log: its own, and the pages around them."""
    return sum(len(value) for value in values if isinstance(value, bytes)) + _PAGES_AROUND
