"""The definition of a store, and what others of this program use of stores.

`Store` is the asynchronous face on any backend, with one writer thread and the write-behind queues;
`DurableSession` is the session that it gives for writing, `StoredRecording` the one for reading. A `Backend`
is what a new kind of store brings: see `everlog.store.backend` for what it guarantees, and
`everlog.testing.store_contract` for the suite that it passes.
"""

from everlog.store.backend import Backend, End, Hit, Lease, Reader, StoredBlob, Summary, Torn
from everlog.store.chain import Batch, Record
from everlog.store.durable import Blobs, DurableSession
from everlog.store.errors import (
    BatchRefused,
    BlobMissing,
    LeaseLost,
    RecordingOnly,
    SessionBusy,
    SessionExists,
    SessionNotFound,
    StoreError,
    UnknownEvents,
    WriteFailed,
)
from everlog.store.opening import Probe
from everlog.store.recorded import StoredRecording
from everlog.store.store import Store

__all__ = [
    "Backend",
    "Batch",
    "BatchRefused",
    "BlobMissing",
    "Blobs",
    "DurableSession",
    "End",
    "Hit",
    "Lease",
    "LeaseLost",
    "Probe",
    "Reader",
    "Record",
    "RecordingOnly",
    "SessionBusy",
    "SessionExists",
    "SessionNotFound",
    "Store",
    "StoreError",
    "StoredBlob",
    "StoredRecording",
    "Summary",
    "Torn",
    "UnknownEvents",
    "WriteFailed",
]
