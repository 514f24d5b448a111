"""The tables, how a connection is made, and how an older database becomes a newer one."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from everlog.session.errors import FormatUnsupported
from everlog.store.catalog.tables import WORDS
from everlog.store.disk import Disk
from everlog.store.errors import StoreDamaged, StoreError, StoreUnusable
from everlog.store.oslock import wait_for

VERSION = 1
APPLICATION_ID = 0x65766C67  # "evlg"; says in the file's header whose it is
BUSY_MS = 30_000

TABLES = f"""
CREATE TABLE session (
    key INTEGER PRIMARY KEY,
    id TEXT UNIQUE,
    header BLOB NOT NULL,
    header_sum INTEGER NOT NULL,
    base INTEGER REFERENCES session (key),
    inherited INTEGER NOT NULL DEFAULT 0,
    next_seq INTEGER NOT NULL,
    head BLOB NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    title TEXT,
    preview TEXT,
    trashed_at INTEGER,
    searchable INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX session_used ON session (used);
CREATE INDEX session_base ON session (base) WHERE base IS NOT NULL;
CREATE TABLE event (
    at INTEGER PRIMARY KEY,
    seal BLOB NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE checkpoint (
    at INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);
CREATE TABLE torn (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    set_aside_at INTEGER NOT NULL,
    seal BLOB,
    data BLOB
);
CREATE TABLE blob (
    hash TEXT PRIMARY KEY,
    put_at INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE flush (
    count INTEGER NOT NULL
);
INSERT INTO flush VALUES (0);
{WORDS}
"""
"""An event's key is its session's key, shifted by `SEQ_BITS`, plus its seq: one B-tree holds each log in order.
`session.base` is the session whose events before `inherited` this one shares; a purged one that others share
has no `id` and stays until they are gone. `used` counts up and orders the list; a copy takes its place
by when its original was used."""

Step = Callable[[sqlite3.Connection], None]
MIGRATIONS: Sequence[Step] = ()
"""What makes a database of version n (counted from 1) one of version n + 1."""


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection that any one thread at a time may use."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000)
    if sys.platform == "darwin":
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA checkpoint_fullfsync = 1")
    return connection


@contextmanager
def telling_damage(path: Path) -> Iterator[None]:
    """Raise StoreDamaged in place of what SQLite raises when it meets pages that are not what they should be."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:  # what else goes wrong has classes of its own
            raise
        raise StoreDamaged(path, error) from error


def prepare(path: Path, steps: Sequence[Step] = MIGRATIONS) -> None:
    """Make the database when there is none, and bring an older one up to date, after a backup of it.

    Processes that open it at the same time wait for each other.

    Raises:
        FormatUnsupported: it is of a later version.
        StoreUnusable: the file is no database of this program, or its folder cannot be used.
    """
    try:
        if _version(path) == len(steps) + 1:
            return
        Disk().make_folders(path.parent)
        with wait_for(path.with_name(path.name + ".lock")):
            _prepare_alone(path, steps)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(path, error, _why_not(path, error)) from error


def _why_not(path: Path, error: Exception) -> str:
    """Say what SQLite does not of why a database cannot be opened; empty when its own words do."""
    if os.path.isdir(path):
        return "it is a folder, and sqlite: opens a file (jsonl: opens a folder)"
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
        return "it may not be written here, which SQLite has to do to read it, too; look at a copy of it"
    if type(error) is sqlite3.DatabaseError:
        return (
            f"{error}: it was overwritten or cut short, or never was one; if it was a store, put a backup of it in its"
            " place, or see what the command .recover of SQLite's own shell still finds"
        )
    return ""


def _version(path: Path) -> int:
    """Give the version of the database; 0 when it is not made yet."""
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with closing(connect(path)) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StoreError(f"{path} is a database of another program")
        return version


def _prepare_alone(path: Path, steps: Sequence[Step]) -> None:
    current = len(steps) + 1
    version = _version(path)
    if version > current:
        raise FormatUnsupported(f"the store {path}", str(version), f"versions up to {current}")
    if version == 0:
        _make(path, current)
    elif version < current:
        _back_up(path, version)
        _migrate(path, version, steps)


def _make(path: Path, version: int) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(connect(path)) as connection:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(f"{path} is a database of another program")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID};"
            f" PRAGMA user_version = {version}; COMMIT;"
        )


def _back_up(path: Path, version: int) -> Path:
    """Copy the database beside it, whole or not at all; return when the copy survives a loss of power."""
    kept = path.with_name(f"{path.name}.v{version}.backup")
    half = kept.with_name(kept.name + ".half")
    disk = Disk()
    disk.remove(half)
    disk.close(disk.create(half))
    with closing(connect(path)) as source, closing(connect(half)) as target:
        source.backup(target)
    descriptor = disk.open(half)
    try:
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)
    disk.rename(half, kept)
    disk.sync_folder(kept.parent)
    return kept


def _migrate(path: Path, version: int, steps: Sequence[Step]) -> None:
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for step in steps[version - 1 :]:
                step(connection)
            connection.execute(f"PRAGMA user_version = {len(steps) + 1}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
