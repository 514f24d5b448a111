"""The index of a folder of sessions: for lists and search. Derived, and made anew when it is missing or damaged.

A row that its writer has let go of is exact. While a writer holds a session, or when one died with it, what a
list shows of it is looked up in its folder.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from everlog.session.errors import FormatUnsupported, SessionCorrupt
from everlog.session.header import now_ms, read_header
from everlog.store.backend import Hit, Missed, Summary
from everlog.store.catalog import listing, search
from everlog.store.catalog.placing import place
from everlog.store.catalog.tables import WORDS
from everlog.store.errors import SessionNotFound, SessionUnreadable, StoreError, reason_of
from everlog.store.jsonl import folders
from everlog.store.jsonl.folders import Folders
from everlog.store.jsonl.reader import JsonlReader
from everlog.store.oslock import holder_of, wait_for
from everlog.store.texts import searched_from, shown_in

T = TypeVar("T")

_TABLES = f"""
CREATE TABLE session (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL,
    header BLOB NOT NULL,
    header_sum INTEGER NOT NULL,
    inherited INTEGER NOT NULL DEFAULT 0,
    next_seq INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    title TEXT,
    preview TEXT,
    trashed_at INTEGER,
    searchable INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX session_used ON session (used);
CREATE INDEX session_id ON session (id);
CREATE INDEX session_held ON session (held) WHERE held;
CREATE TABLE seen (folder TEXT PRIMARY KEY, changed_at INTEGER NOT NULL);
{WORDS}
"""
_VERSION = 1
_SETTLED_NS = 2_000_000_000
"""A folder that changed less long ago than this may change again without another time on it."""

_log = logging.getLogger("everlog.store")


class Index:
    """The index of one store. Whatever fails here is logged, and harms no session."""

    def __init__(self, places: Folders) -> None:
        self._folders = places
        self._path = places.index
        self._free: list[tuple[sqlite3.Connection, int]] = []

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, timeout=30, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                with wait_for(self._path.with_name("index.lock")):
                    self._make(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _make(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == _VERSION:
            return
        if version:
            raise sqlite3.DatabaseError(f"an index of version {version}")
        self._path.chmod(0o600)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Ask the database; one that is damaged is removed, and made anew from the folders."""
        try:
            return self._ask_once(question)
        except sqlite3.OperationalError:
            if os.access(self._folders.root, os.W_OK) and os.access(self._path, os.W_OK):
                raise
            return self._ask_aside(question)  # of a store that may only be read
        except sqlite3.DatabaseError as error:
            _log.warning("the index %s is made anew: %s", self._path, error)
            self._discard()
            return self._ask_once(question)

    def _ask_aside(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Ask an index that is made in memory from the folders, for this question alone."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.executescript(_TABLES)
            return question(connection)

    def _ask_once(self, question: Callable[[sqlite3.Connection], T]) -> T:
        connection, file = self._borrow()
        try:
            answer = question(connection)
        except BaseException:
            connection.close()
            raise
        self._free.append((connection, file))
        return answer

    def _borrow(self) -> tuple[sqlite3.Connection, int]:
        """Give a connection, and the number of the file that it has open; the file may be deleted at any time."""
        for connection, file in self._taken():
            if file == self._file():
                return connection, file
            connection.close()
        return self._connect(), self._file()

    def _taken(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """Take one after another of the connections that are not in use; other threads may do so at the same time."""
        with suppress(IndexError):
            while True:
                yield self._free.pop()

    def _file(self) -> int:
        try:
            return self._path.stat().st_ino
        except FileNotFoundError:
            return -1

    def close(self) -> None:
        """Close the connections that are not in use."""
        for connection, _ in self._taken():
            connection.close()

    def _discard(self) -> None:
        self.close()
        for end in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + end).unlink(missing_ok=True)

    def _tell(self, change: Callable[[sqlite3.Connection], object]) -> None:
        """Change the index. When that fails, the next list finds out by itself."""
        try:
            self._ask(change)
        except (sqlite3.Error, OSError) as error:
            _log.warning("the index %s was not brought up to date: %s", self._path, error)

    def held(self, id: str) -> None:
        """A writer holds a session now, a new one maybe."""

        def change(connection: sqlite3.Connection) -> None:
            folder = self._folders.session(id)
            now = "UPDATE session SET held = 1, used_at = ?, used = (SELECT max(used) + 1 FROM session) WHERE name = ?"
            if connection.execute(now, (now_ms(), folder.name)).rowcount == 0:
                self._look_at(connection, folder)

        self._tell(change)

    def show(self, id: str, title: str | None, preview: str | None) -> None:
        """A batch that was written sets a title, or holds the first user message."""
        name = self._folders.session(id).name
        self._tell(
            lambda connection: connection.execute(
                "UPDATE session SET title = coalesce(?, title), preview = coalesce(preview, ?) WHERE name = ?",
                (title, preview, name),
            )
        )

    def show_as(self, id: str, seen: Summary) -> None:
        """A session is the copy of one of which a list shows this."""
        name = self._folders.session(id).name

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            for (key,) in connection.execute("SELECT key FROM session WHERE name = ?", (name,)).fetchall():
                row = "UPDATE session SET title = ?, preview = ? WHERE key = ?"
                connection.execute(row, (seen.title, seen.preview, key))
                place(connection, key, seen.updated_at)
            connection.execute("COMMIT")

        self._tell(change)

    def released(self, id: str, next_seq: int) -> None:
        """A writer let go of a session, which it used until now."""
        name = self._folders.session(id).name
        self._tell(
            lambda connection: connection.execute(
                "UPDATE session SET held = 0, next_seq = ?, used_at = ?, used = (SELECT max(used) + 1 FROM session)"
                " WHERE name = ?",
                (next_seq, now_ms(), name),
            )
        )

    def copied(self, id: str, next_seq: int) -> None:
        """A writer let go of a session that it copied, which is no use of it."""
        values = (next_seq, self._folders.session(id).name)
        row = "UPDATE session SET held = 0, next_seq = ? WHERE name = ?"
        self._tell(lambda connection: connection.execute(row, values))

    def moved(self) -> None:
        """A session was put into the trash, brought back, or removed."""
        self._tell(self._reconcile)

    def page(self, limit: int, after: str | None, trashed: bool) -> list[Summary]:
        """Give a page of the sessions."""

        def question(connection: sqlite3.Connection) -> list[Summary]:
            self._reconcile_changed(connection)
            self._refresh_held(connection)
            found = listing.page(connection, limit, after, trashed, self._holder)
            mended = [summary.id for summary in found if summary.damage and self._damage(summary) is None]
            for name in mended:
                self._look_at(connection, self._place(name, trashed))
            return listing.page(connection, limit, after, trashed, self._holder) if mended else found

        found = self._ask(question)
        return [replace(summary, damage=self._damage(summary)) if summary.damage else summary for summary in found]

    def _damage(self, summary: Summary) -> str | None:
        """Give why a session that the index has no header of cannot be opened, or None: its folder tells.

        What could not be read then may be readable now, by a newer build or with a package that was missing.
        """
        try:
            with closing(JsonlReader(self._place(summary.id, summary.trashed_at is not None), summary.id)) as reader:
                read_header(reader.header)
        except SessionCorrupt as error:
            return f"its header is damaged: {error.reason}"
        except SessionUnreadable as error:
            return f"it cannot be read: {error.reason}"
        except (FormatUnsupported, StoreError, ValueError) as error:
            return str(error)
        except (SessionNotFound, OSError):
            return summary.damage
        return None

    def _place(self, name: str, trashed: bool) -> Path:
        return (self._folders.trash if trashed else self._folders.sessions) / name

    def summary(self, name: str) -> Summary | None:
        """Give what a page shows of the session in a folder of this name."""

        def question(connection: sqlite3.Connection) -> Summary | None:
            self._reconcile_changed(connection)
            self._refresh_held(connection)
            return listing.one(connection, "name", name, self._holder)

        return self._ask(question)

    def find(self, text: str, limit: int, missed: Missed) -> Sequence[Hit]:
        """Give where all words of a text stand; tell `missed` of each session that cannot be read."""

        def question(connection: sqlite3.Connection) -> Sequence[Hit]:
            self._reconcile_changed(connection)
            self._refresh_held(connection)
            self._look_at_unread(connection, missed)
            return search.find(connection, text, limit, lambda id: JsonlReader(self._folders.find(id), id), missed)

        return self._ask(question)

    def _look_at_unread(self, connection: sqlite3.Connection, missed: Missed) -> None:
        """Look again at sessions that could not be read when the index was made; tell of those that still cannot."""
        rows = "SELECT name FROM session WHERE header_sum = -1 AND next_seq = 0 AND trashed_at IS NULL"
        for (name,) in connection.execute(rows).fetchall():
            try:
                with closing(JsonlReader(self._folders.sessions / name, name)) as reader:
                    reader.end()
            except SessionNotFound:
                continue
            except StoreError as error:
                missed(name, reason_of(error))
                continue
            self._look_at(connection, self._folders.sessions / name)

    def _holder(self, id: str) -> str | None:
        return holder_of(self._folders.lock(id))

    def _reconcile_changed(self, connection: sqlite3.Connection) -> None:
        """Look for sessions that came and went, when the folders changed since somebody looked."""
        seen = dict(connection.execute("SELECT folder, changed_at FROM seen").fetchall())
        changed = {folder.name: folder.stat().st_mtime_ns for folder in (self._folders.sessions, self._folders.trash)}
        if seen == changed:
            return
        self._reconcile(connection)
        if time.time_ns() - max(changed.values()) > _SETTLED_NS:
            connection.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?)", changed.items())

    def _reconcile(self, connection: sqlite3.Connection) -> None:
        """Have a row for each folder that there is, and no other."""
        live, trash = self._folders.sessions, self._folders.trash
        there, thrown_away = self._folders.names(live), self._folders.names(trash)
        listed, listed_away = _listed(connection, trashed=False), _listed(connection, trashed=True)
        for name in (listed | listed_away) - there - thrown_away:
            self._forget(connection, name)
        new = [*(live / name for name in there - listed), *(trash / name for name in thrown_away - there - listed_away)]
        for folder in sorted(new, key=_changed_at_if_there):
            self._look_at(connection, folder)

    def _forget(self, connection: sqlite3.Connection, name: str) -> None:
        (key,) = connection.execute("SELECT key FROM session WHERE name = ?", (name,)).fetchone()
        connection.execute("DELETE FROM words WHERE rowid >= ? AND rowid < ?", (key << 32, (key + 1) << 32))
        connection.execute("DELETE FROM session WHERE key = ?", (key,))

    def _refresh_held(self, connection: sqlite3.Connection) -> None:
        """Look into the folders of sessions that a writer holds, or held when it died."""
        for name, id, trashed_at in connection.execute(
            "SELECT name, id, trashed_at FROM session WHERE held"
        ).fetchall():
            folder = self._place(name, trashed_at is not None)
            if self._holder(id) is None:
                self._look_at(connection, folder)
                connection.execute("UPDATE session SET held = 0 WHERE name = ?", (name,))
            else:
                self._look_at_end(connection, folder, id)

    def _look_at_end(self, connection: sqlite3.Connection, folder: Path, id: str) -> None:
        try:
            with closing(JsonlReader(folder, id)) as reader:
                values = (reader.end().next_seq, _changed_at(folder), folder.name)
        except (SessionNotFound, SessionUnreadable, OSError):
            return
        connection.execute("UPDATE session SET next_seq = ?, used_at = ? WHERE name = ?", values)

    def _look_at(self, connection: sqlite3.Connection, folder: Path) -> None:
        """Make the row of a session from its folder."""
        try:
            row = _row_of(folder)
        except (SessionNotFound, OSError):
            return
        connection.execute(
            "INSERT INTO session (used, name, id, header, header_sum, inherited, next_seq, title, preview, used_at,"
            " trashed_at) VALUES ((SELECT coalesce(max(used), 0) + 1 FROM session), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET next_seq = excluded.next_seq, title = excluded.title,"
            " preview = excluded.preview, trashed_at = excluded.trashed_at, header = excluded.header,"
            " header_sum = excluded.header_sum, used_at = coalesce(nullif(used_at, 0), excluded.used_at)",
            row,
        )


def _listed(connection: sqlite3.Connection, *, trashed: bool) -> set[str]:
    """Give the names of the rows; as one text, which is read in a third of the time of ten thousand rows."""
    names = "SELECT group_concat(name, '/') FROM session WHERE (trashed_at IS NOT NULL) = ?"
    (text,) = connection.execute(names, (trashed,)).fetchone()
    return set(text.split("/")) if text else set()


def _row_of(folder: Path) -> tuple[object, ...]:
    """Read what a list shows of a session."""
    when = (_changed_at(folder), _trashed_at(folder))
    try:
        with closing(JsonlReader(folder, folder.name)) as reader:
            return (folder.name, *_shown_by(reader, folder.name), *when)
    except StoreError:  # the system does not let it be read, or what compressed logs need is not installed
        return (folder.name, folder.name, b"", -1, 0, 0, None, None, *when)


def _shown_by(reader: JsonlReader, name: str) -> tuple[object, ...]:
    id, header, inherited = name, b"", 0
    try:
        found = read_header(header := reader.header)
        id, inherited = found.id, searched_from(found)
    except (SessionCorrupt, FormatUnsupported, ValueError):
        header = b""
    title, preview = shown_in(reader.log.blocks())
    end = reader.end().next_seq
    return id, header, crc32(header) if header else -1, inherited, end, title, preview


def _changed_at(folder: Path) -> int:
    return max((entry.stat().st_mtime_ns for entry in _logs(folder)), default=0) // 1_000_000


def _changed_at_if_there(folder: Path) -> int:
    try:
        return _changed_at(folder)
    except OSError:
        return 0  # it went away meanwhile


def _logs(folder: Path) -> Iterator[Path]:
    return folder.glob(f"{folders.LOG}.*")


def _trashed_at(folder: Path) -> int | None:
    """Give when a session was put into the trash; a note of that in one that is not there is of an interrupted move."""
    if folder.parent.name != "trash":
        return None
    try:
        return int((folder / folders.TRASHED).read_text())
    except (OSError, ValueError):
        return 0
