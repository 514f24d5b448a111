"""The backend on SQLite."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from everlog.session.header import Header, now_ms
from everlog.store.backend import End, Hit, Missed, StoredBlob, Summary, Torn, unheard
from everlog.store.catalog import listing
from everlog.store.catalog.tables import SEQ_BITS
from everlog.store.chain import START, is_sound
from everlog.store.damage import demand_sound_end
from everlog.store.errors import BatchRefused, BlobMissing, SessionBusy, SessionExists, SessionNotFound
from everlog.store.names import path_name
from everlog.store.oslock import FileLock, Held, holder_of
from everlog.store.sqlite.database import Database
from everlog.store.sqlite.lease import SqliteLease
from everlog.store.sqlite.reader import Connections, SqliteReader
from everlog.store.sqlite.schema import prepare
from everlog.store.urls import options_of, path_of

if TYPE_CHECKING:
    from everlog.store.backend import Backend, Lease, Reader

_NEW = """
INSERT INTO session (id, header, header_sum, base, inherited, next_seq, head, epoch, used, used_at, title, preview)
VALUES (?, ?, ?, ?, ?, ?, ?, 1, (SELECT coalesce(max(used), 0) + 1 FROM session), ?, ?, ?)
"""


class SqliteBackend:
    """Keeps sessions in one database, with a lock file for each that is written."""

    def __init__(self, path: Path) -> None:
        """Open the database at `path`, and make it when there is none."""
        self._path = path
        prepare(path)
        real = path.resolve()  # one database has one folder of locks, by whatever links it is reached
        self._locks = real.with_name(real.name + "-locks")
        self._locks.mkdir(mode=0o700, exist_ok=True)
        self._database = Database(path)
        self._connections = Connections(path)

    @property
    def url(self) -> str:
        """Give the URL that opens the same store."""
        return f"sqlite://{self._path.absolute().as_posix()}"

    def _lock(self, id: str) -> FileLock:
        try:
            return FileLock.acquire(self._lock_path(id))
        except Held as held:
            raise SessionBusy(id, held.holder) from None

    def _lock_path(self, id: str) -> Path:
        return self._locks / f"{path_name(id)}.lock"

    def create(self, header: Header) -> Lease:
        """Begin a session."""
        lock = self._lock(header.id)
        try:
            with self._database.transaction("NORMAL") as connection:
                key = self._new(connection, header, None, End(0, START), (None, None))
        except BaseException:
            lock.release()
            raise
        return SqliteLease(self._database, lock, header.id, key, 1, End(0, START))

    def _new(
        self, connection: sqlite3.Connection, header: Header, base: int | None, at: End, shown: tuple[Any, Any]
    ) -> int:
        own = header.to_json()
        if connection.execute("SELECT 1 FROM session WHERE id = ?", (header.id,)).fetchone():
            raise SessionExists(header.id)
        values = (header.id, own, crc32(own), base, at.next_seq, at.next_seq, at.head, now_ms(), *shown)
        return connection.execute(_NEW, values).lastrowid or 0

    def acquire(self, id: str) -> Lease:
        """Take the right to write a session; a new epoch begins."""
        self.demand(id)
        lock = self._lock(id)
        try:
            self.demand(id)  # once more: it may have been put into the trash before the lock was had
            torn = self._set_aside(id)
            with self._database.transaction("NORMAL") as connection:
                connection.execute(
                    "UPDATE session SET epoch = epoch + 1, used_at = ?, used = (SELECT max(used) + 1 FROM session)"
                    " WHERE id = ?",
                    (now_ms(), id),
                )
                key, epoch, next_seq, head = connection.execute(
                    "SELECT key, epoch, next_seq, head FROM session WHERE id = ?", (id,)
                ).fetchone()
        except BaseException:
            lock.release()
            raise
        lease = SqliteLease(self._database, lock, id, key, epoch, End(next_seq, head))
        lease.torn = torn
        return lease

    def demand(self, id: str) -> None:
        """Raise SessionNotFound unless it is there."""
        with self._connections.borrow() as connection:
            row = connection.execute("SELECT trashed_at FROM session WHERE id = ?", (id,)).fetchone()
        if row is None or row[0] is not None:
            raise SessionNotFound(id, trashed=row is not None)

    def _set_aside(self, id: str) -> Torn | None:
        """Move a damaged last record into the table `torn`. Raises SessionCorrupt when the one before is damaged."""
        reader = SqliteReader(self._connections, id)
        torn, end = reader.torn, reader.end()
        if torn is None:
            return None
        demand_sound_end(id, reader, end)
        at = (reader.key << SEQ_BITS) + end.next_seq
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO torn SELECT ?, ?, ?, seal, data FROM event WHERE at = ?",
                (reader.key, end.next_seq, now_ms(), at),
            )
            connection.execute("DELETE FROM event WHERE at = ?", (at,))
            connection.execute("UPDATE session SET next_seq = ?, head = ? WHERE key = ?", (*end, reader.key))
        return Torn(torn.size, torn.reason, f"the table torn of {self._path}")

    def fork(self, parent: str, at: End, header: Header) -> Lease:
        """Begin a session that refers to the parent's events."""
        self.demand(parent)
        lock = self._lock(header.id)
        try:
            with self._database.transaction("NORMAL") as connection:
                base, shown = self._base(connection, parent, at)
                key = self._new(connection, header, base, at, shown)
        except BaseException:
            lock.release()
            raise
        return SqliteLease(self._database, lock, header.id, key, 1, at)

    def _base(self, connection: sqlite3.Connection, parent: str, at: End) -> tuple[int, tuple[Any, Any]]:
        """Give the key of the parent, and its title and preview, once its chain is found to be as expected."""
        row = connection.execute("SELECT key, next_seq, title, preview FROM session WHERE id = ?", (parent,)).fetchone()
        reader = SqliteReader(self._connections, parent)
        record = next(reader.pick([at.next_seq - 1])) if at.next_seq else None
        same = at.head == START if record is None else is_sound(*record) and record.chain == at.head
        if not same or at.next_seq > row[1]:
            raise BatchRefused(parent, at.next_seq, row[1], "the parent's chain is another there")
        return row[0], (row[2], row[3])

    def holder(self, id: str) -> str | None:
        """Give who holds a session."""
        return holder_of(self._lock_path(id))

    def _holders(self) -> Callable[[str], str | None]:
        """Give what `holder` is, for many sessions: of one without a lock file, one look at the folder tells."""
        there = set(os.listdir(self._locks)) if self._locks.is_dir() else set()
        return lambda id: self.holder(id) if f"{path_name(id)}.lock" in there else None

    def reader(self, id: str) -> Reader:
        """Open a session for reading."""
        return SqliteReader(self._connections, id)

    def list(self, limit: int, after: str | None, trashed: bool) -> Sequence[Summary]:
        """Give a page of the sessions."""
        with self._connections.borrow() as connection:
            return listing.page(connection, limit, after, trashed, self._holders())

    def summary(self, id: str) -> Summary:
        """Give what a list shows of one session."""
        with self._connections.borrow() as connection:
            found = listing.one(connection, "id", id, self.holder)
        if found is None:
            raise SessionNotFound(id)
        return found

    def search(self, text: str, limit: int, missed: Missed = unheard) -> Sequence[Hit]:
        """Give where all words of a text stand."""
        from everlog.store.catalog import search  # reads events, which a list of sessions shall not wait for

        with self._connections.borrow() as connection:
            return search.find(connection, text, limit, self.reader, missed)

    def trash(self, id: str) -> None:
        """Put a session into the trash."""
        self.demand(id)
        with self._lock(id), self._database.transaction() as connection:
            connection.execute("UPDATE session SET trashed_at = ? WHERE id = ?", (now_ms(), id))

    def restore(self, id: str) -> None:
        """Bring a session back from the trash."""
        with self._database.transaction() as connection:
            cursor = connection.execute(
                "UPDATE session SET trashed_at = NULL WHERE id = ? AND trashed_at IS NOT NULL", (id,)
            )
            if cursor.rowcount != 1:
                raise SessionNotFound(id)

    def purge(self, id: str) -> None:
        """Remove a session for good; what forks share stays, under no id."""
        with self._lock(id), self._database.transaction() as connection:
            row = connection.execute("SELECT key FROM session WHERE id = ?", (id,)).fetchone()
            if row is None:
                raise SessionNotFound(id)
            connection.execute("UPDATE session SET id = NULL, header = x'' WHERE key = ?", row)
            _sweep(connection, row[0])

    def put_blob(self, hash: str, data: bytes) -> None:
        """Keep a blob; putting it again makes it young."""
        with self._database.transaction("NORMAL") as connection:
            connection.execute(
                "INSERT INTO blob VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET put_at = excluded.put_at",
                (hash, now_ms(), data),
            )

    def blob(self, hash: str) -> bytes:
        """Give a blob."""
        with self._connections.borrow() as connection:
            row = connection.execute("SELECT data FROM blob WHERE hash = ?", (hash,)).fetchone()
        if row is None:
            raise BlobMissing(hash)
        data: bytes = row[0]
        return data

    def blobs(self) -> Iterator[StoredBlob]:
        """Give what is known of every blob."""
        with self._connections.borrow() as connection:
            rows = connection.execute("SELECT hash, length(data), put_at FROM blob ORDER BY hash").fetchall()
        yield from (StoredBlob(*row) for row in rows)

    def drop_blob(self, hash: str) -> None:
        """Remove a blob."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM blob WHERE hash = ?", (hash,))

    def oddities(self) -> Iterator[str]:
        """Have SQLite check its pages, and look for events that belong to no session."""
        with self._connections.borrow() as connection:
            for (said,) in connection.execute("PRAGMA quick_check").fetchall():
                if said != "ok":
                    yield f"SQLite says: {said}"
            orphans = connection.execute(
                "SELECT count(*) FROM event WHERE at >> ? NOT IN (SELECT key FROM session)", (SEQ_BITS,)
            ).fetchone()[0]
        if orphans:
            yield f"{orphans} events belong to no session"

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()
        self._database.connection.close()


def _sweep(connection: sqlite3.Connection, key: int | None) -> None:
    """Remove the events of a purged session that no other shares, and of those before it that it alone kept."""
    while key is not None:
        row = connection.execute("SELECT base, id FROM session WHERE key = ?", (key,)).fetchone()
        if row is None or row[1] is not None:
            return
        base, first = row[0], key << SEQ_BITS
        (shared,) = connection.execute("SELECT max(inherited) FROM session WHERE base = ?", (key,)).fetchone()
        gone = (first + (shared or 0), first + (1 << SEQ_BITS))
        connection.execute("DELETE FROM event WHERE at >= ? AND at < ?", gone)
        connection.execute("DELETE FROM checkpoint WHERE at >= ? AND at < ?", gone)
        connection.execute("DELETE FROM words WHERE rowid >= ? AND rowid < ?", gone)
        if shared is not None:
            connection.execute("UPDATE session SET next_seq = ? WHERE key = ?", (shared, key))
            return
        connection.execute("DELETE FROM torn WHERE session = ?", (key,))
        connection.execute("DELETE FROM session WHERE key = ?", (key,))
        key = base


def open_backend(url: str) -> Backend:
    """Open the database of a URL. Raises UrlInvalid for an option: there are none."""
    demand_options(url)
    return SqliteBackend(path_of(url))


def demand_options(url: str) -> None:
    """Raise UrlInvalid for an option: there are none."""
    options_of(url)
