"""Durable sessions: stores that keep them, one interface chosen by URL, and what works on stored logs.

Imports `kernel` and `session` only.
"""

from everlog.store.seam import (
    BatchRefused,
    BlobMissing,
    DurableSession,
    LeaseLost,
    RecordingOnly,
    SessionBusy,
    SessionExists,
    SessionNotFound,
    Store,
    StoredRecording,
    StoreError,
    UnknownEvents,
    WriteFailed,
)
from everlog.store.urls import add_scheme, default_url, open_store

__all__ = [
    "BatchRefused",
    "BlobMissing",
    "DurableSession",
    "LeaseLost",
    "RecordingOnly",
    "SessionBusy",
    "SessionExists",
    "SessionNotFound",
    "Store",
    "StoreError",
    "StoredRecording",
    "UnknownEvents",
    "WriteFailed",
    "add_scheme",
    "default_url",
    "open_store",
]
