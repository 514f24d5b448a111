"""Copying sessions to another store: the same bytes under the same id. What is there already is not copied again."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from everlog.session.errors import SessionCorrupt
from everlog.session.header import Header
from everlog.store.backend import Backend, End, Lease, Reader
from everlog.store.chain import Batch, Record, is_sound, link
from everlog.store.damage import damage_of
from everlog.store.errors import BatchRefused, BlobMissing, SessionExists, SessionNotFound
from everlog.store.opening import chain_at, stored_header
from everlog.store.texts import shown_in

_BATCH_BYTES = 1024 * 1024
BLOB_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
"""How a blob is named in an event, wherever it is."""


@dataclass(frozen=True)
class Copied:
    """What copying a session did.

    Attributes:
        session: its id.
        events: how many events the copy has.
        written: how many of them were written now.
        blobs: how many blobs were.
        trashed: whether it lies in the trash, in both stores.
    """

    session: str
    events: int
    written: int
    blobs: int
    trashed: bool = False


Copying: TypeAlias = Generator[tuple[int, int], None, Copied]
"""Copies a batch at each step; says how many events there are now of how many, and returns what was done."""


def copy_session(id: str, source: Backend, target: Backend) -> Copying:
    """Copy one session and the blobs that it names, step by step; on the target's writer thread.

    Between the steps that thread writes for others. Closed before its end it gives the copy back; begun again, it goes
    on where it was. Lists show of the copy what they show of the original, the time of its last use too; that of one in
    the trash is put into the trash.

    Raises:
        SessionNotFound: the source has no such session; or it is not in the trash, and the copy is.
        SessionExists: the target has another session of this id.
        SessionBusy: somebody writes the copy.
        SessionCorrupt: an event is damaged; those before it were copied.
    """
    seen = source.summary(id)
    trashed = seen.trashed_at is not None
    with closing(source.reader(id)) as reader:
        header, end = stored_header(id, reader), reader.end()
        if trashed and _copied_into_trash(header, reader, target) == end:
            return Copied(id, end.next_seq, 0, 0, trashed)
        lease = _lease(header, reader, target)
        start, blobs, damage = lease.end.next_seq, 0, None
        try:
            try:
                for batch in _batches(id, reader, lease.end, end.next_seq):
                    blobs += _copy_blobs(batch, source, target)
                    lease.append(batch)
                    yield batch.next_seq, end.next_seq
            except SessionCorrupt as error:
                damage = error
            lease.show_as(seen)
            lease.sync()
        finally:
            lease.release()
    if trashed:
        target.trash(id)
    if damage is not None:
        raise damage
    return Copied(id, end.next_seq, end.next_seq - start, blobs, trashed)


def next_step(copying: Copying) -> tuple[int, int] | Copied:
    """Take one step of a copy, and give how far it is; or what was done, when that was its end."""
    try:
        return next(copying)
    except StopIteration as end:
        done: Copied = end.value
        return done


def _copied_into_trash(header: Header, reader: Reader, target: Backend) -> End | None:
    """Give where the copy in the target's trash ends; one that is not whole is brought back, to go on with it."""
    try:
        if target.summary(header.id).trashed_at is None:
            return None
    except SessionNotFound:
        return None
    end = _copied_so_far(header, reader, target)
    if end != reader.end():
        target.restore(header.id)
    return end


def _lease(header: Header, reader: Reader, target: Backend) -> Lease:
    """Begin the copy, or go on with it."""
    try:
        return _shared(header, reader, target) or target.create(header)
    except SessionExists:
        lease = target.acquire(header.id)
    try:
        _copied_so_far(header, reader, target)
    except BaseException:
        lease.release()
        raise
    return lease


def _copied_so_far(header: Header, reader: Reader, target: Backend) -> End:
    """Give where what the target has of the session ends. Raises SessionExists when it is no beginning of it."""
    with closing(target.reader(header.id)) as found:
        end = found.end()
        if found.header != header.to_json() or chain_at(reader, end.next_seq) != end.head:
            raise SessionExists(header.id)
        return end


def _shared(header: Header, reader: Reader, target: Backend) -> Lease | None:
    """Begin the copy of a fork as a fork, when the target has its parent with the same events."""
    count = header.inherited_events
    if header.parent_session is None or not count:
        return None
    try:
        return target.fork(header.parent_session, End(count, chain_at(reader, count)), header)
    except (SessionNotFound, BatchRefused):
        return None


def _batches(id: str, reader: Reader, end: End, stop: int) -> Iterator[Batch]:
    """Give the records from `end` on, each checked; those before a damaged one too, before it is told."""
    data: list[bytes] = []
    seals: list[bytes] = []
    size, first, head = 0, end, end.head
    damage: str | None = None
    for seq, record in enumerate(reader.read(end.next_seq, stop), end.next_seq):
        damage = _damage(record, head)
        if damage is not None:
            break
        head = record.chain
        data.append(record.data)
        seals.append(record.seal)
        size += len(record.data)
        if size >= _BATCH_BYTES:
            yield _batch(id, first, data, seals)
            first, data, seals, size = End(seq + 1, head), [], [], 0
    if data:
        yield _batch(id, first, data, seals)
    if damage is not None:
        raise SessionCorrupt(id, first.next_seq + len(data), damage)


def _damage(record: Record, before: bytes) -> str | None:
    """Say what is wrong with a record that follows the chain `before`, or None."""
    if not is_sound(*record):
        return damage_of(record)
    return None if link(before, record.data) == record.chain else "the chain is broken here"


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
