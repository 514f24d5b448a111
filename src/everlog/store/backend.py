"""What a backend is: the synchronous core of a store, which knows bytes, seals and seqs, but no event types.

What every backend guarantees, and `everlog.testing.store_contract` checks:

- Bytes in, the same bytes out: the stored unit is an event's JSON bytes with their seal (`everlog.store.chain`).
- A batch is stored completely or not at all; after a crash a number of its first events may be there.
- A batch is refused when it does not follow what is stored: by session, seq and chain.
- One writer: a lease is exclusive, ends with its process, and every append is fenced by it.
- What was stored is never rewritten. A torn end is set aside, never cut off and lost, never joined.
- Reading needs no lease and waits for no writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from everlog.session.header import Header
from everlog.store.chain import Batch, Record


class End(NamedTuple):
    """Where a stored log ends: the seq that comes next, and the chain so far."""

    next_seq: int
    head: bytes


@dataclass(frozen=True)
class Torn:
    """What stood at the end of a log and is no whole record.

    Attributes:
        size: how many bytes.
        reason: how its end tells that it is torn.
        kept_in: where it was set aside; None while it still stands at the end, for a reader.
    """

    size: int
    reason: str
    kept_in: str | None = None

    def __str__(self) -> str:
        kept = f"; set aside in {self.kept_in}" if self.kept_in else ""
        return f"a torn end of {self.size} bytes ({self.reason}){kept}"


@dataclass(frozen=True)
class Summary:
    """One session in a list.

    Attributes:
        id: its identity.
        created_at: milliseconds since the epoch; 0 when the header cannot be read.
        updated_at: when it was last opened for writing or written, in milliseconds since the epoch.
        events: how many events are stored.
        title: its last title, or None.
        preview: the beginning of the first user message, or None.
        cwd, parent_session, origin, delegation_depth: as in the header.
        recording: whether it was imported with events that break rules, and can only be looked at.
        holder: who holds it for writing, or None.
        trashed_at: when it was put into the trash, in milliseconds since the epoch, or None.
        damage: why it cannot be opened, or None.
        cursor: where the next page begins, after this session.
    """

    id: str
    created_at: int
    updated_at: int
    events: int
    title: str | None = None
    preview: str | None = None
    cwd: str | None = None
    parent_session: str | None = None
    origin: str | None = None
    delegation_depth: int | None = None
    recording: bool = False
    holder: str | None = None
    trashed_at: int | None = None
    damage: str | None = None
    cursor: str = ""


@dataclass(frozen=True)
class Hit:
    """One place where a search found its text.

    Attributes:
        session: the id of the session.
        seq: the event that says it.
        title: the title of the session, or None.
        snippet: the text around the first of the words.
    """

    session: str
    seq: int
    title: str | None
    snippet: str


Missed: TypeAlias = Callable[[str, str], None]
"""Called with the id of a session that a search could not look into, and the reason."""


def unheard(session: str, reason: str) -> None:
    """Do nothing with what a search missed."""


@dataclass(frozen=True)
class StoredBlob:
    """One blob: its content hash, its size in bytes, and when it was last put, in ms since the epoch."""

    hash: str
    size: int
    put_at: int


class Lease(Protocol):
    """The right of this process to write one session. Used by the writer thread only."""

    @property
    def session(self) -> str:
        """Give the id of the session."""
        ...

    @property
    def end(self) -> End:
        """Give where the stored log ends, everything that this lease appended included."""
        ...

    @property
    def torn(self) -> Torn | None:
        """Give what was set aside when the lease was acquired, or None."""
        ...

    def append(self, batch: Batch) -> None:
        """Store a batch; it survives the end of this process, but not a loss of power.

        Raises:
            BatchRefused: it does not follow what is stored. Nothing was written.
            LeaseLost: another writer has the session, or it is gone. Nothing was written.
            OSError, sqlite3.Error, …: it did not succeed. Nothing of it counts as stored, and it may be tried again.
        """
        ...

    def append_synced(self, batch: Batch) -> None:
        """Store a batch as `append` does, and return when it and all before it survive a loss of power."""
        ...

    def sync(self) -> None:
        """Return when everything that was appended, and every blob that was put, survives a loss of power."""
        ...

    def show_as(self, seen: Summary) -> None:
        """Have lists show of this session what they show of another: its `updated_at`, `title` and `preview`.

        For the copy of a session, which was not used now. It stands above all sessions that were not used later, and
        below the others. An append, or another lease, says that it is used now again.

        Raises:
            LeaseLost: another writer has the session, or it is gone.
        """
        ...

    def save_checkpoint(self, seq: int, data: bytes) -> None:
        """Keep what was known after the event `seq` beside the log; it may be lost, but is never seen half."""
        ...

    def release(self) -> None:
        """Give the right back. Safe to call twice."""
        ...


class Reader(Protocol):
    """Reads one stored session. Used by one thread at a time."""

    @property
    def header(self) -> bytes:
        """Give the header's JSON bytes. Raises SessionCorrupt (seq None) when they are damaged."""
        ...

    @property
    def torn(self) -> Torn | None:
        """Give what stands at the end and is no whole record, or None; `end` is before it."""
        ...

    def end(self) -> End:
        """Give where the stored log ends now."""
        ...

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Give the records from seq `start` up to `stop`, in order, as they are stored, damaged ones too.

        A record that is missing is given with empty bytes and an empty seal.
        """
        ...

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs, in the order given, as `read` does."""
        ...

    def everything(self) -> Iterator[Record]:
        """Give every record that can be found, in the order in which they are stored, wherever it belongs."""
        ...

    def strays(self) -> Iterator[tuple[int, str]]:
        """Give what is stored and belongs to no place in the log: before which seq, and what it is."""
        ...

    def checkpoints(self) -> Iterator[tuple[int, bytes]]:
        """Give what was kept beside the log, as (seq, data), the newest first."""
        ...

    def close(self) -> None:
        """Let go of what the reader holds."""
        ...


class Backend(Protocol):
    """Where sessions are kept.

    `create`, `acquire`, `fork`, `trash`, `restore`, `purge`, `put_blob`, `drop_blob` and `index` are called by
    the writer thread only; everything else by any thread.
    """

    @property
    def url(self) -> str:
        """Give the URL that opens the same store."""
        ...

    def create(self, header: Header) -> Lease:
        """Begin a session with an empty log, and hold it. Raises SessionExists."""
        ...

    def acquire(self, id: str) -> Lease:
        """Take the right to write a session, setting a torn end aside.

        Raises:
            SessionNotFound: there is none, or it lies in the trash.
            SessionBusy: another writer holds it.
            SessionCorrupt: its header or its end cannot be read.
        """
        ...

    def fork(self, parent: str, at: End, header: Header) -> Lease:
        """Begin a session that holds the parent's events before `at.next_seq`, and hold it.

        The parent is not touched, may be held by any writer, and may be purged later without harm.

        Raises:
            SessionNotFound: there is no such parent, or it lies in the trash.
            SessionExists: the header's id is taken.
            BatchRefused: the parent's chain at `at` is another.
        """
        ...

    def demand(self, id: str) -> None:
        """Raise SessionNotFound unless there is such a session, and it is not in the trash."""
        ...

    def holder(self, id: str) -> str | None:
        """Give who holds a session for writing, or None."""
        ...

    def reader(self, id: str) -> Reader:
        """Open a session for reading. Raises SessionNotFound; sessions in the trash can be read."""
        ...

    def list(self, limit: int, after: str | None, trashed: bool) -> Sequence[Summary]:
        """Give a page of the sessions, or of the trash: those used last come first. Reads no log."""
        ...

    def summary(self, id: str) -> Summary:
        """Give what a list shows of one session, in the trash or not. Raises SessionNotFound. Reads no log."""
        ...

    def search(self, text: str, limit: int, missed: Missed = unheard) -> Sequence[Hit]:
        """Give where all words of a text stand in the titles and messages of sessions, newest sessions first.

        A session that cannot be read hides no other: `missed` is called with its id and the reason.
        """
        ...

    def trash(self, id: str) -> None:
        """Put a session into the trash. Raises SessionNotFound, SessionBusy."""
        ...

    def restore(self, id: str) -> None:
        """Bring a session back from the trash. Raises SessionNotFound when it is not there."""
        ...

    def purge(self, id: str) -> None:
        """Remove a session, in the trash or not, for good; what forks share of it stays theirs.

        Raises SessionNotFound, SessionBusy.
        """
        ...

    def put_blob(self, hash: str, data: bytes) -> None:
        """Keep a blob. It is durable when a `sync` or `append_synced` that comes after returns."""
        ...

    def blob(self, hash: str) -> bytes:
        """Give a blob. Raises BlobMissing."""
        ...

    def blobs(self) -> Iterator[StoredBlob]:
        """Give what is known of every blob."""
        ...

    def drop_blob(self, hash: str) -> None:
        """Remove a blob for good."""
        ...

    def oddities(self) -> Iterator[str]:
        """Look for what is wrong with the store besides its sessions and blobs; nothing, when all is well."""
        ...

    def close(self) -> None:
        """Let go of everything. Leases that are still held are given back."""
        ...


Opener = Callable[[str], Backend]
"""Opens the backend of a URL."""

__all__ = ["Backend", "End", "Hit", "Lease", "Opener", "Reader", "StoredBlob", "Summary", "Torn"]
