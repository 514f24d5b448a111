"""The connection that writes, and the one statement that stores a batch."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from everlog.store.sqlite.schema import BUSY_MS, connect, telling_damage

# A batch is stored by one statement, a transaction of its own, so that the interpreter's lock is given up and
# taken back once, however busy other threads are. The rows are cut from two blobs, at sizes given as JSON.
FENCED = "fenced"
_STATEMENT = f"""
CREATE TEMP VIEW batch AS SELECT
    0 AS key, 0 AS epoch, 0 AS first_seq, 0 AS before, 0 AS next_seq, 0 AS head, 0 AS now, 0 AS title, 0 AS preview,
    0 AS first_at, 0 AS seals, 0 AS data, 0 AS cuts;
CREATE TEMP TRIGGER store_batch INSTEAD OF INSERT ON batch BEGIN
    SELECT RAISE(ABORT, '{FENCED}') WHERE NOT EXISTS (
        SELECT 1 FROM session WHERE key = NEW.key AND epoch = NEW.epoch AND next_seq = NEW.first_seq
        AND head = NEW.before AND id IS NOT NULL AND trashed_at IS NULL
    );
    UPDATE session SET next_seq = NEW.next_seq, head = NEW.head, used_at = NEW.now,
        title = coalesce(NEW.title, title), preview = coalesce(preview, NEW.preview)
    WHERE key = NEW.key;
    UPDATE session SET used = (SELECT max(used) + 1 FROM session)
    WHERE key = NEW.key AND used < (SELECT max(used) FROM session);
    INSERT INTO event (at, seal, data)
    SELECT NEW.first_at + key, substr(NEW.seals, key * 24 + 1, 24),
        substr(NEW.data, (value >> 30) + 1, value & 1073741823) FROM json_each(NEW.cuts);
END;
"""
STORE = "INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SIZE_BITS = 30
"""No value of SQLite is longer than this tells."""
_LEAST_ROOM, _MOST_ROOM = 16 * 1024, 5 * 1024 * 1024
"""The write-ahead log is kept ahead of what is written by so many bytes, up to where SQLite begins it again."""

_CHECKPOINT_EVERY, _PAGES_AT_LATEST = 4 * 1024 * 1024, 1250
"""After so many bytes a batch that nobody waits for moves the log into the database; after so many pages, any does."""
_MOST_UNSYNCED = 128 * 1024
"""So many bytes wait for a sync at most, so that none takes long; then also a batch is synced that nobody waits for."""

Synchronous: TypeAlias = Literal["NORMAL", "FULL"]


class Database:
    """The connection that writes. Used by the writer thread only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.connection = connect(path)
        self.connection.executescript(_STATEMENT)
        self.connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_AT_LATEST}")
        self._log = f"{path}-wal"
        self._log_size = 0
        self._written = self._unsynced = 0
        self._synchronous = ""
        self._doubtful = False

    @contextmanager
    def transaction(self, synchronous: Synchronous = "FULL") -> Iterator[sqlite3.Connection]:
        """Begin a transaction that commits at the end, and rolls back when something is raised."""
        connection = self.connection
        with telling_damage(self._path):
            self._begin(synchronous)
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

    def run(self, statement: str, values: Sequence[object], size: int, synchronous: Synchronous) -> None:
        """Run one statement, which writes about so many bytes, as a transaction of its own."""
        nobody_waits = synchronous == "NORMAL"
        self._unsynced += size
        self._begin("NORMAL" if nobody_waits and self._unsynced < _MOST_UNSYNCED else "FULL")
        self._doubtful = True
        try:
            self.connection.executemany(statement, (values,))  # `execute` gives the lock up once more, for the rowid
        except sqlite3.IntegrityError:
            self._doubtful = False  # it was refused before its commit
            raise
        self._doubtful = False
        if self._synchronous == "FULL":
            self._unsynced = 0
        self._written += size
        if not nobody_waits and self._log_size < _MOST_ROOM:
            self._keep_room()  # its statements would take long beside a thread that is busy, which a waiter's is not
        if nobody_waits and self._written >= _CHECKPOINT_EVERY:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Move what the write-ahead log holds into the database, now that nobody waits for it."""
        self._written = 0
        self._doubtful = True  # until it is done: what a sync that fails leaves behind may count as written
        with suppress(sqlite3.Error):
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._doubtful = False

    def _keep_room(self) -> None:
        """When the write-ahead log grew, make it as long again: to sync what overwrites takes half as long."""
        with suppress(sqlite3.Error, OSError):  # a full disk, maybe; what is written next finds out by itself
            size = os.stat(self._log).st_size
            if size > self._log_size:
                more = min(max(size, _LEAST_ROOM), _MOST_ROOM - size)
                if more > 0:
                    self._write_and_roll_back(more)
                self._log_size = os.stat(self._log).st_size

    def _write_and_roll_back(self, size: int) -> None:
        """Leave room of a size in the log: a transaction larger than the cache is written there before it ends.

        While another process writes it is not waited for.
        """
        connection = self.connection
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA cache_size = 8")
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO checkpoint VALUES (-1, zeroblob(?))", (size,))
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("PRAGMA cache_size = -2000")
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    def _begin(self, synchronous: Synchronous) -> None:
        """Settle what is in doubt, and set how the next commit is made durable."""
        self._settle_doubt()
        if synchronous != self._synchronous:
            self.connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous

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
        self._log_size = 0
