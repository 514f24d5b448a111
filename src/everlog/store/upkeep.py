"""The upkeep of a store: what is wrong with it, and which blobs nothing names any more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256

from everlog.errors import EverlogError
from everlog.session.header import now_ms
from everlog.session.rules.checking import binding
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import Backend, StoredBlob, Summary
from everlog.store.chain import Record
from everlog.store.copying import BLOB_HASH
from everlog.store.errors import BlobMissing, SessionNotFound, StoreError, reason_of
from everlog.store.verifying import Progress, verify_stored

_BLOCK_BLOB = re.compile(rb'"blob":"([0-9a-f]{64})"')
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


@dataclass(frozen=True)
class Checked:
    """What checking a store found: how much there is, and what is wrong with it, a line each."""

    sessions: int
    events: int
    blobs: int
    faults: tuple[str, ...]


def check_store(backend: Backend, vocabulary: Vocabulary, progress: Progress) -> Checked:
    """Verify every session, look at every blob, and at what holds them; `progress` counts sessions."""
    summaries = list(every_session(backend))
    faults = list(_odd(backend))
    events = 0
    for at, summary in enumerate(summaries):
        progress(at, len(summaries))
        try:
            found, more = _checked_session(backend, summary, vocabulary)
        except (EverlogError, OSError) as error:  # it hides no other
            found, more = 0, [f"session {summary.id}: {error}"]
        events += found
        faults += more
    faults += [f"blob {hash}: {why}" for hash, why in broken_blobs(backend)]
    return Checked(len(summaries), events, sum(1 for _ in backend.blobs()), tuple(faults))


def _odd(backend: Backend) -> Iterator[str]:
    """Give what the backend finds odd of itself, and what keeps it from looking further."""
    try:
        yield from backend.oddities()
    except StoreError as error:
        yield reason_of(error)


def _checked_session(backend: Backend, summary: Summary, vocabulary: Vocabulary) -> tuple[int, list[str]]:
    try:
        found = verify_stored(summary.id, backend, vocabulary)
    except SessionNotFound as error:
        return 0, [f"session {summary.id}: {summary.damage or error}"] if summary.damage else []  # else it just went
    faults = [f"session {summary.id}: {fault}" for fault in found.faults]
    if not summary.recording:
        faults += [f"session {summary.id}: {broken}" for broken in binding(found.violations)]
    if any(fault.unreadable for fault in found.faults):
        return 0, faults
    with closing(backend.reader(summary.id)) as reader:
        for name in sorted(_named_blocks(reader.read(0, found.events) if found.sound else reader.everything())):
            try:
                backend.blob(name)
            except BlobMissing:
                faults.append(f"session {summary.id}: blob {name} is missing")
            except StoreError:
                pass  # it is told of among the blobs
    return found.events, faults


def _named_blocks(records: Iterable[Record]) -> set[str]:
    """Give the hashes that image and file blocks name."""
    return {name.decode() for record in records for name in _BLOCK_BLOB.findall(record.data)}


def broken_blobs(backend: Backend) -> Iterator[tuple[str, str]]:
    """Give the hashes of blobs that cannot be read, or whose bytes are not those of the hash; and which it is."""
    for blob in backend.blobs():
        try:
            if sha256(backend.blob(blob.hash)).hexdigest() != blob.hash:
                yield blob.hash, "its bytes are not those that its name is of"
        except BlobMissing:
            continue  # it was removed meanwhile
        except StoreError as error:
            yield blob.hash, f"it cannot be read: {reason_of(error)}"
