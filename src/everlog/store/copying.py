"""Copying sessions to another store: the same bytes under the same id. What is there already is not copied again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from everlog.session.errors import SessionCorrupt
from everlog.session.header import Header
from everlog.store.backend import Backend, End, Lease, Reader
from everlog.store.chain import START, Batch, is_sound, link
from everlog.store.errors import BatchRefused, BlobMissing, SessionExists, SessionNotFound
from everlog.store.events import damage_of
from everlog.store.opening import stored_header
from everlog.store.texts import shown_in
from everlog.store.verifying import Progress

T = TypeVar("T")

_BATCH_BYTES = 1024 * 1024
BLOB_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
"""How a blob is named in an event, wherever it is."""


@dataclass(frozen=True)
class Copied:
    """What copying a session did: how many events the copy has, and how many of them were written now."""

    session: str
    events: int
    written: int
    blobs: int


def copy_session(id: str, source: Backend, target: Backend, progress: Progress) -> Copied:
    """Copy one session and the blobs that it names; on the target's writer thread.

    Begun again after it was interrupted, it goes on where it was.

    Raises:
        SessionNotFound: the source has no such session.
        SessionExists: the target has another session of this id.
        SessionBusy: somebody writes the copy.
        SessionCorrupt: an event is damaged; those before it were copied.
    """
    reader = source.reader(id)
    try:
        header = stored_header(id, reader)
        stop = reader.end().next_seq
        lease = _lease(header, reader, target)
        try:
            start = lease.end.next_seq
            blobs = 0
            for batch in _batches(id, reader, lease.end, stop):
                blobs += _copy_blobs(batch, source, target)
                lease.append(batch)
                progress(batch.next_seq, stop)
            lease.sync()
            return Copied(id, stop, stop - start, blobs)
        finally:
            lease.release()
    finally:
        reader.close()


def _lease(header: Header, reader: Reader, target: Backend) -> Lease:
    """Begin the copy, or go on with it."""
    try:
        return _shared(header, reader, target) or target.create(header)
    except SessionExists:
        lease = target.acquire(header.id)
    found = target.reader(header.id)
    try:
        same = found.header == header.to_json() and _chain_at(reader, lease.end.next_seq) == lease.end.head
    finally:
        found.close()
    if not same:
        lease.release()
        raise SessionExists(header.id)
    return lease


def _shared(header: Header, reader: Reader, target: Backend) -> Lease | None:
    """Begin the copy of a fork as a fork, when the target has its parent with the same events."""
    count = header.inherited_events
    if header.parent_session is None or not count:
        return None
    try:
        return target.fork(header.parent_session, End(count, _chain_at(reader, count)), header)
    except (SessionNotFound, BatchRefused):
        return None


def _chain_at(reader: Reader, count: int) -> bytes:
    """Give the chain after the first `count` events; empty when there are not so many."""
    if count > reader.end().next_seq:
        return b""
    return next(iter(reader.pick([count - 1]))).chain if count else START


def _batches(id: str, reader: Reader, end: End, stop: int) -> Iterator[Batch]:
    """Give the records from `end` on, each checked."""
    data: list[bytes] = []
    seals: list[bytes] = []
    size, first, head = 0, end, end.head
    for seq, record in enumerate(reader.read(end.next_seq, stop), end.next_seq):
        if not is_sound(*record):
            raise SessionCorrupt(id, seq, damage_of(record))
        if link(head, record.data) != record.chain:
            raise SessionCorrupt(id, seq, "the chain is broken here")
        head = record.chain
        data.append(record.data)
        seals.append(record.seal)
        size += len(record.data)
        if size >= _BATCH_BYTES:
            yield _batch(id, first, data, seals)
            first, data, seals, size = End(seq + 1, head), [], [], 0
    if data:
        yield _batch(id, first, data, seals)


def _batch(id: str, first: End, data: list[bytes], seals: list[bytes]) -> Batch:
    title, preview = shown_in([b"\n".join(data)])
    return Batch(id, first.next_seq, first.head, data, seals, title, preview)


def _copy_blobs(batch: Batch, source: Backend, target: Backend) -> int:
    """Copy the blobs that a batch names and the target has not."""
    copied = 0
    for name in sorted(set(BLOB_HASH.findall(b"\n".join(batch.data)))):
        hash = name.decode()
        try:
            target.blob(hash)
        except BlobMissing:
            try:
                target.put_blob(hash, source.blob(hash))
                copied += 1
            except BlobMissing:
                pass  # sixty-four digits that are no blob's name, or a blob that is missing; `store check` tells
    return copied
