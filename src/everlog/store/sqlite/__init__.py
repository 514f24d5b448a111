"""`sqlite:///file.db`: every session in one SQLite database. The default store.

Durability: the database is in WAL mode. A flush commits under `synchronous=FULL`: SQLite appends to the file
`-wal` and syncs it (`fdatasync`; on macOS `F_FULLFSYNC`) before the commit returns. Batches that nobody waits
for are committed under `synchronous=NORMAL`, without a sync, unless 128 KiB have gathered; the next flush
syncs them too, as they stand before its own in the same file.
"""

from everlog.store.sqlite.backend import SqliteBackend, demand_options, open_backend

__all__ = ["SqliteBackend", "demand_options", "open_backend"]
