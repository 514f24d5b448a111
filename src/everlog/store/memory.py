"""`memory:`: sessions that live as long as the process. `memory:NAME` is shared by all who open it by that name."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from everlog.session.header import Header, now_ms
from everlog.store.backend import End, Hit, Missed, StoredBlob, Summary, unheard
from everlog.store.catalog.listing import before
from everlog.store.chain import START, Batch, Record
from everlog.store.errors import BatchRefused, BlobMissing, LeaseLost, SessionBusy, SessionExists, SessionNotFound
from everlog.store.texts import holds_all, said_in, searched_from, snippet, words_of
from everlog.store.urls import options_of

if TYPE_CHECKING:
    from everlog.store.backend import Backend, Lease, Reader, Torn


@dataclass
class _Stored:
    """One session. A fork has a list of its own of the same records."""

    header: Header
    records: list[Record]
    used_at: int
    used: int
    title: str | None = None
    preview: str | None = None
    checkpoints: dict[int, bytes] = field(default_factory=dict)
    lease: MemoryLease | None = None
    trashed_at: int | None = None

    def end(self) -> End:
        records = self.records
        return End(len(records), records[-1].chain if records else START)


class MemoryBackend:
    """Keeps everything in dictionaries. What it keeps is as durable as the process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._sessions: dict[str, _Stored] = {}
        self._blobs: dict[str, tuple[bytes, int]] = {}
        self._order = count(1)
        self._lock = threading.RLock()

    @property
    def url(self) -> str:
        """Give the URL that opens the same store."""
        return self._url

    def _session(self, id: str, *, trashed: bool = False) -> _Stored:
        found = self._sessions.get(id)
        if found is None or (found.trashed_at is not None and not trashed):
            raise SessionNotFound(id, trashed=found is not None)
        return found

    def create(self, header: Header) -> Lease:
        """Begin a session."""
        with self._lock:
            if header.id in self._sessions:
                raise SessionExists(header.id)
            stored = self._sessions[header.id] = _Stored(header, [], now_ms(), next(self._order))
            return self._hold(stored)

    def _hold(self, stored: _Stored) -> MemoryLease:
        stored.lease = MemoryLease(self, stored)
        self.touch(stored)
        return stored.lease

    def touch(self, stored: _Stored) -> None:
        """Note that a session is used."""
        stored.used_at, stored.used = now_ms(), next(self._order)

    def place(self, stored: _Stored, used_at: int) -> None:
        """Note when a session was last used, and put it above those that were not used later."""
        with self._lock:
            others = [other for other in self._sessions.values() if other is not stored]
            below = max((other.used for other in others if other.used_at <= used_at), default=0)
            above = sorted((other for other in others if other.used > below), key=lambda other: other.used)
            stored.used_at = used_at
            for moved in (stored, *above):
                moved.used = next(self._order)

    def acquire(self, id: str) -> Lease:
        """Take the right to write a session."""
        with self._lock:
            stored = self._free(id)
            return self._hold(stored)

    def _free(self, id: str) -> _Stored:
        stored = self._session(id)
        if stored.lease is not None:
            raise SessionBusy(id, stored.lease.holder)
        return stored

    def fork(self, parent: str, at: End, header: Header) -> Lease:
        """Begin a session that holds the same records."""
        with self._lock:
            source = self._session(parent)
            if header.id in self._sessions:
                raise SessionExists(header.id)
            records = source.records[: at.next_seq]
            head = records[-1].chain if records else START
            if End(len(records), head) != at:
                raise BatchRefused(parent, at.next_seq, source.end().next_seq, "the parent's chain is another there")
            stored = _Stored(header, records, now_ms(), next(self._order), source.title, source.preview)
            stored.checkpoints = {seq: data for seq, data in source.checkpoints.items() if seq < at.next_seq}
            self._sessions[header.id] = stored
            return self._hold(stored)

    def demand(self, id: str) -> None:
        """Raise SessionNotFound unless it is there."""
        self._session(id)

    def holder(self, id: str) -> str | None:
        """Give who holds a session."""
        lease = self._session(id, trashed=True).lease
        return lease.holder if lease is not None else None

    def reader(self, id: str) -> Reader:
        """Open a session for reading."""
        return MemoryReader(self._session(id, trashed=True))

    def list(self, limit: int, after: str | None, trashed: bool) -> Sequence[Summary]:
        """Give a page of the sessions."""
        with self._lock:
            end = before(after)
            shown = [s for s in self._sessions.values() if (s.trashed_at is not None) == trashed]
            shown.sort(key=lambda s: -s.used)
            return [_summary(s) for s in shown if s.used < end][:limit]

    def summary(self, id: str) -> Summary:
        """Give what a list shows of one session."""
        return _summary(self._session(id, trashed=True))

    def search(self, text: str, limit: int, missed: Missed = unheard) -> Sequence[Hit]:
        """Give where all words of a text stand."""
        words = words_of(text)
        hits: list[Hit] = []
        for stored in sorted(self._sessions.values(), key=lambda s: -s.used):
            if not words or stored.trashed_at is not None:
                continue
            for seq in range(searched_from(stored.header), len(stored.records)):
                said = said_in(stored.records[seq].data)
                if said and holds_all(said, words):
                    hits.append(Hit(stored.header.id, seq, stored.title, snippet(said, words)))
        return hits[:limit]

    def trash(self, id: str) -> None:
        """Put a session into the trash."""
        with self._lock:
            self._free(id).trashed_at = now_ms()

    def restore(self, id: str) -> None:
        """Bring a session back from the trash."""
        with self._lock:
            stored = self._session(id, trashed=True)
            if stored.trashed_at is None:
                raise SessionNotFound(id)
            stored.trashed_at = None

    def purge(self, id: str) -> None:
        """Remove a session for good."""
        with self._lock:
            stored = self._session(id, trashed=True)
            if stored.lease is not None:
                raise SessionBusy(id, stored.lease.holder)
            del self._sessions[id]

    def put_blob(self, hash: str, data: bytes) -> None:
        """Keep a blob."""
        self._blobs[hash] = (data, now_ms())

    def blob(self, hash: str) -> bytes:
        """Give a blob."""
        try:
            return self._blobs[hash][0]
        except KeyError:
            raise BlobMissing(hash) from None

    def blobs(self) -> Iterator[StoredBlob]:
        """Give what is known of every blob."""
        for hash, (data, put_at) in tuple(self._blobs.items()):
            yield StoredBlob(hash, len(data), put_at)

    def drop_blob(self, hash: str) -> None:
        """Remove a blob."""
        self._blobs.pop(hash, None)

    def oddities(self) -> Iterator[str]:
        """Give nothing: there are none."""
        return iter(())

    def close(self) -> None:
        """Keep what a name may open again."""


class MemoryLease:
    """The right to write one session."""

    holder = "another opening in this process"

    def __init__(self, backend: MemoryBackend, stored: _Stored) -> None:
        self._backend = backend
        self._stored = stored

    @property
    def session(self) -> str:
        """Give the id of the session."""
        return self._stored.header.id

    @property
    def end(self) -> End:
        """Give where the log ends."""
        return self._stored.end()

    @property
    def torn(self) -> Torn | None:
        """Give None: nothing is torn here."""
        return None

    def append(self, batch: Batch) -> None:
        """Store a batch."""
        stored = self._stored
        if stored.lease is not self:
            raise LeaseLost(self.session, "it was given back")
        if batch.session != self.session:
            raise BatchRefused(self.session, batch.first_seq, self.end.next_seq, f"it belongs to {batch.session}")
        if End(batch.first_seq, batch.before) != self.end:
            raise BatchRefused(self.session, batch.first_seq, self.end.next_seq)
        stored.records += map(Record, batch.data, batch.seals)
        stored.title = batch.title or stored.title
        stored.preview = stored.preview or batch.preview
        self._backend.touch(stored)

    def append_synced(self, batch: Batch) -> None:
        """Store a batch."""
        self.append(batch)

    def sync(self) -> None:
        """Do nothing: memory is all there is."""

    def show_as(self, seen: Summary) -> None:
        """Take over what lists show."""
        stored = self._stored
        if stored.lease is not self:
            raise LeaseLost(self.session, "it was given back")
        stored.title, stored.preview = seen.title, seen.preview
        self._backend.place(stored, seen.updated_at)

    def save_checkpoint(self, seq: int, data: bytes) -> None:
        """Keep a checkpoint."""
        self._stored.checkpoints = {seq: data, **self._stored.checkpoints}

    def release(self) -> None:
        """Give the right back."""
        if self._stored.lease is self:
            self._stored.lease = None


class MemoryReader:
    """Reads one session."""

    torn = None

    def __init__(self, stored: _Stored) -> None:
        self._stored = stored

    @property
    def header(self) -> bytes:
        """Give the header's JSON bytes."""
        return self._stored.header.to_json()

    def end(self) -> End:
        """Give where the log ends."""
        return self._stored.end()

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Give the records from `start` up to `stop`."""
        yield from self._stored.records[start:stop]

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs."""
        for seq in seqs:
            yield self._stored.records[seq]

    def everything(self) -> Iterator[Record]:
        """Give every record."""
        yield from self._stored.records

    def strays(self) -> Iterator[tuple[int, str]]:
        """Give nothing: there are none."""
        return iter(())

    def checkpoints(self) -> Iterator[tuple[int, bytes]]:
        """Give the checkpoints, the newest first."""
        yield from sorted(self._stored.checkpoints.items(), reverse=True)

    def close(self) -> None:
        """Do nothing."""


def _summary(stored: _Stored) -> Summary:
    header = stored.header
    return Summary(
        id=header.id,
        created_at=header.created_at,
        updated_at=stored.used_at,
        events=len(stored.records),
        title=stored.title,
        preview=stored.preview,
        cwd=header.cwd,
        parent_session=header.parent_session,
        origin=header.origin,
        delegation_depth=header.delegation_depth,
        recording=bool(header.recording),
        holder=stored.lease.holder if stored.lease is not None else None,
        trashed_at=stored.trashed_at,
        cursor=str(stored.used),
    )


_named: dict[str, MemoryBackend] = {}


def open_backend(url: str) -> Backend:
    """Open `memory:`, a store of its own each time, or `memory:NAME`. Raises UrlInvalid for an option."""
    demand_options(url)
    name = url.partition(":")[2]
    backend = MemoryBackend(f"memory:{name}")
    return _named.setdefault(name, backend) if name else backend


def demand_options(url: str) -> None:
    """Raise UrlInvalid for an option: there are none."""
    options_of(url)
