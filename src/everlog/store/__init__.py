"""Durable sessions: stores that keep them, one interface chosen by URL, and what works on stored logs.

Imports `kernel` and `session` only.
"""

from typing import TYPE_CHECKING

from everlog.lazily import lazily

if TYPE_CHECKING:
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
    from everlog.store.store import open_store
    from everlog.store.urls import add_scheme, default_url

_HOME = {
    "BatchRefused": "errors",
    "BlobMissing": "errors",
    "DurableSession": "seam",
    "LeaseLost": "errors",
    "RecordingOnly": "errors",
    "SessionBusy": "errors",
    "SessionExists": "errors",
    "SessionNotFound": "errors",
    "Store": "seam",
    "StoreError": "errors",
    "StoredRecording": "seam",
    "UnknownEvents": "errors",
    "WriteFailed": "errors",
    "add_scheme": "urls",
    "default_url": "urls",
    "open_store": "store",
}

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

if not TYPE_CHECKING:  # a type checker shall refuse a name that is not listed above
    __getattr__ = lazily(__name__, _HOME)
