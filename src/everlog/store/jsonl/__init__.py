"""`jsonl:///folder`: a folder for each session, with a file of JSON lines that ordinary tools read.

`?compression=zstd` writes new sessions as Zstandard frames. Both kinds may stand in one store.

Durability: a flush writes the batch (`pwrite`) and syncs the file (`fdatasync`; on macOS `F_FULLFSYNC`, on
Windows `fsync`); the first flush of a new session also syncs its folder and the one above. Side files and
blobs are written beside their place, synced, renamed, and their folder is synced.
"""

from everlog.store.jsonl.backend import JsonlBackend, demand_options, open_backend

__all__ = ["JsonlBackend", "demand_options", "open_backend"]
