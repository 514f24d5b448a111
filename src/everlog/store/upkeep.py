"""The upkeep of a store: what is wrong with it, and which blobs nothing names any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256

from everlog.session.header import now_ms
from everlog.store.backend import Backend, StoredBlob, Summary
from everlog.store.copying import BLOB_HASH
from everlog.store.errors import StoreError

YOUNG_MS = 60 * 60 * 1000
"""A blob that was put within the last hour is not collected: its event may not be stored yet."""
_PAGE = 500


def every_session(backend: Backend) -> Iterator[Summary]:
    """Give all sessions, those in the trash too."""
    for trashed in (False, True):
        after: str | None = None
        while page := backend.list(_PAGE, after, trashed):
            yield from page
            after = page[-1].cursor


def unnamed_blobs(backend: Backend, young_ms: int = YOUNG_MS) -> list[StoredBlob]:
    """Give the blobs that no session, fork or trashed session names, and that are not young.

    Every event is looked at as it is stored; a hash that stands anywhere in it names the blob.

    Raises:
        StoreError: a session cannot be read whole, so that it is not known what it names.
    """
    oldest = now_ms() - young_ms
    found = {blob.hash: blob for blob in backend.blobs() if blob.put_at <= oldest}
    for summary in every_session(backend) if found else ():
        for name in _names_in(backend, summary.id):
            found.pop(name, None)
    return [found[hash] for hash in sorted(found)]


def _names_in(backend: Backend, id: str) -> Iterator[str]:
    with closing(backend.reader(id)) as reader:
        for seq, record in enumerate(reader.read(0, reader.end().next_seq)):
            if not record.data:
                raise StoreError(
                    f"event {seq} of session {id} cannot be read, so what it names is not known;"
                    f" nothing is collected until `everlog repair {id} --salvage` and `everlog delete {id} --purge`"
                )
            for name in BLOB_HASH.findall(record.data):
                yield name.decode()


def broken_blobs(backend: Backend) -> Iterator[str]:
    """Give the hashes of blobs whose bytes are not those that the hash is of."""
    for blob in backend.blobs():
        if sha256(backend.blob(blob.hash)).hexdigest() != blob.hash:
            yield blob.hash
