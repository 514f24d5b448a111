"""The store: the asynchronous face on any backend."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from threading import get_ident
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from weakref import WeakSet

from everlog.session.event import Event
from everlog.session.eventlist import EventList
from everlog.session.header import Header
from everlog.session.live import Clock, OpenTurn, Session
from everlog.session.log import typed
from everlog.session.repair import closers
from everlog.session.salvage import Salvaged
from everlog.session.vocabulary import CORE, Vocabulary
from everlog.store.adding import add
from everlog.store.backend import Backend, End, Hit, Lease, Missed, StoredBlob, Summary, unheard
from everlog.store.copying import Copied, copy_session, next_step
from everlog.store.durable import Blobs, DurableSession, tell
from everlog.store.errors import RecordingOnly, WriteFailed
from everlog.store.events import StoredEvents
from everlog.store.following import follow_session
from everlog.store.forking import Forked, begin_fork, fork_live, fork_stored
from everlog.store.opening import Loaded, Probe, demand_sound, load, stored_header, verdicts
from everlog.store.pen import Pen
from everlog.store.recorded import StoredRecording
from everlog.store.salvaging import Salvage, salvaged
from everlog.store.upkeep import YOUNG_MS, Checked, check_store, unnamed_blobs
from everlog.store.urls import default_url, opener_of
from everlog.store.verifying import Progress, Verified, verify_stored
from everlog.store.writer import WINDOW, StoreBlobs, Writer

T = TypeVar("T")


def _no_progress(done: int, of: int) -> None:
    """Tell nobody."""


_opened: WeakSet[Store] = WeakSet()


class Store:
    """Keeps sessions. Made by `everlog.open_store`; an async context manager that closes it.

    It belongs to one event loop. All writing is done by one thread; reading may be done by others.
    """

    def __init__(self, backend: Backend, vocabulary: Vocabulary = CORE, window: float = WINDOW) -> None:
        self._backend = backend
        self._vocabulary = vocabulary
        self._writer = Writer(backend, window)
        self._blobs = StoreBlobs(self._writer)
        self._live: dict[str, DurableSession] = {}
        self._closed = False
        _opened.add(self)

    @property
    def url(self) -> str:
        """Give the URL that opens the same store."""
        return self._backend.url

    @property
    def backend(self) -> Backend:
        """Give the synchronous core, for what works on stored bytes."""
        return self._backend

    @property
    def blobs(self) -> Blobs:
        """Give the blobs, by content hash; the next flush of any session makes new ones durable."""
        return self._blobs

    async def _job(self, job: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._writer.call(job))

    async def create(
        self,
        header: Header | dict[str, Any] | None = None,
        *,
        vocabulary: Vocabulary | None = None,
        clock: Clock | None = None,
    ) -> DurableSession:
        """Begin a session with an empty log, held for writing. A missing id and time are filled in.

        Raises:
            SessionExists: the id of the header is taken.
        """
        made = Session.create(header, vocabulary or self._vocabulary, clock)
        session = DurableSession(made.header, made.vocabulary, clock)
        lease = await self._job(lambda: self._backend.create(session.header))
        await self._attach(session, lease, set(), 0)
        return session

    @property
    def vocabulary(self) -> Vocabulary:
        """Give what sessions are opened with, unless something else is said."""
        return self._vocabulary

    async def add(self, header: Header, events: Iterable[Event]) -> None:
        """Keep a whole log that was made elsewhere, as it is; it can be opened afterwards, and is held by nobody.

        A log that breaks a rule is added under a header that says `recording`, and opens for reading only.

        Raises:
            SessionExists: the id of the header is taken. Nothing was kept.
        """
        await self._job(lambda: add(self._backend, header, events))

    async def open(
        self,
        id: str,
        mode: Literal["read", "write"] = "read",
        probe: Probe | None = None,
        *,
        vocabulary: Vocabulary | None = None,
        clock: Clock | None = None,
    ) -> Any:
        """Open a session: a `StoredRecording` for `"read"`, a `DurableSession` for `"write"`.

        Opened for writing, a turn that a crash left open is closed by events that are appended to the log; the
        first append after that is preceded by a session/end-seed. `probe` is asked about calls whose outcome
        the log does not tell, before. Opened for reading, the same events are computed in memory, when no
        living writer holds the session.

        Raises:
            SessionNotFound: there is none, or it lies in the trash.
            SessionBusy: for writing; another writer, maybe of this process, holds it.
            SessionCorrupt: what had to be read is damaged, or, for writing, breaks a rule.
            RecordingOnly: for writing; it was imported and can only be looked at.
            FormatUnsupported: it is of a later format, or, for writing, holds events of unknown types.
        """
        words = vocabulary or self._vocabulary
        match mode:
            case "read":
                return await asyncio.to_thread(self._recording, id, words)
            case "write":
                return await self._open_for_writing(id, words, clock, probe)
            case _:
                raise ValueError(f'mode is "read" or "write", not {mode!r}')

    async def _open_for_writing(
        self, id: str, vocabulary: Vocabulary, clock: Clock | None, probe: Probe | None
    ) -> DurableSession:
        lease = await self._job(lambda: self._backend.acquire(id))
        try:
            session, loaded = await asyncio.to_thread(self._loaded, id, vocabulary, clock)
            found = await verdicts(session, probe)
        except BaseException:
            await asyncio.shield(self._job(lease.release))
            raise
        session._goes_on_after_reload()
        await self._attach(session, lease, loaded.types, loaded.covered)
        for event in closers(session, "interrupted", found):
            session._take_in(event, typed(event))
        return session

    def _loaded(self, id: str, vocabulary: Vocabulary, clock: Clock | None) -> tuple[DurableSession, Loaded]:
        events = self._events(id, vocabulary)
        header = stored_header(id, events.reader)
        if header.recording:
            raise RecordingOnly(id)
        session = DurableSession(header, vocabulary, clock)
        loaded = load(session, events)
        demand_sound(id, loaded)
        return session, loaded

    def _recording(self, id: str, vocabulary: Vocabulary) -> StoredRecording:
        self._backend.demand(id)
        held = self._backend.holder(id) is not None
        events = self._events(id, vocabulary)
        log = StoredRecording(stored_header(id, events.reader), vocabulary, events, self._blobs)
        loaded = load(log, events)
        log.running, log.unknown_types, log.torn = held, loaded.unknown, events.reader.torn
        log.stored = log.next_seq
        if not held and not loaded.unknown:
            for event in closers(log):
                log._take_in(event, typed(event))
        return log

    async def _attach(self, session: DurableSession, lease: Lease, types: set[str], covered: int) -> None:
        loop = asyncio.get_running_loop()
        pen = Pen(self._writer, lease, types, lambda: tell(loop, session._tell_trouble))
        await self._job(lambda: self._writer.add(pen))

        async def release() -> None:
            self._live.pop(session.id, None)
            await self._job(lambda: self._give_back(pen))

        session._thread = get_ident()
        session._attach(pen, self._blobs, release, covered)
        self._live[session.id] = session

    def _give_back(self, pen: Pen) -> None:
        self._writer.remove(pen)
        pen.end()

    async def fork(self, id: str, at: int | None = None, open_turn: OpenTurn = "refuse") -> DurableSession:
        """Make a session that holds the events 0..`at` of another (all of them when `at` is None), held for writing.

        A session that this process holds is flushed first. Of one that another process holds, what is stored
        is forked; the child's `parent_running` says so. The parent is not touched, and where the backend can,
        its events are shared.

        Raises:
            ForkRefused: `at` stands inside an open turn and `open_turn` is not `"close"`, or there is no such event.
            RecordingOnly: the parent was imported, and breaks a rule at or before `at`.
            SessionNotFound, SessionCorrupt: as `open` for reading.
        """
        live = self._live.get(id)
        if live is not None:
            await live.flush()
        if live is not None and at in (None, live.next_seq - 1):
            child, types, covered = fork_live(live, open_turn)
        else:
            child, types, covered = await asyncio.to_thread(self._forked_stored, id, at, open_turn)
        own = list(child.events[child.header.inherited_events :])
        lease = await self._job(lambda: begin_fork(self._backend, id, child.header))
        child._events = EventList(own, self._events(child.id, child.vocabulary), child.next_seq - len(own))
        await self._attach(child, lease, types, covered)
        child._write(own)
        return child

    def _forked_stored(self, id: str, at: int | None, open_turn: OpenTurn) -> Forked:
        forked = fork_stored(self._events(id, self._vocabulary), id, self._vocabulary, at, open_turn)
        forked.child.parent_running = id not in self._live and self._backend.holder(id) is not None
        return forked

    def _events(self, id: str, vocabulary: Vocabulary) -> StoredEvents:
        return StoredEvents(id, self._backend.reader(id), vocabulary)

    async def list(self, limit: int = 50, after: str | None = None, *, trashed: bool = False) -> Sequence[Summary]:
        """Give a page of the sessions, those used last first; the next page begins `after` the last one's cursor.

        With `trashed`, those in the trash instead. One that cannot be read is listed with its damage.
        """
        return await asyncio.to_thread(self._backend.list, limit, after, trashed)

    async def search(self, text: str, limit: int = 50, missed: Missed = unheard) -> Sequence[Hit]:
        """Give where all words of a text stand in titles and messages.

        A session that cannot be read hides no other: `missed` is called with its id and the reason, in another thread.
        """
        return await asyncio.to_thread(self._backend.search, text, limit, missed)

    def follow(self, id: str, from_seq: int = 0) -> AsyncIterator[Event]:
        """Give the stored events from a seq on, and then each new one as it is stored, also by other processes.

        It has no end of its own, and never gives computed events. Raises as `open` for reading.
        """
        return follow_session(self._backend, id, self._vocabulary, from_seq)

    async def delete(self, id: str) -> None:
        """Put a session into the trash; `restore` brings it back. Raises SessionNotFound, SessionBusy."""
        await self._job(lambda: self._backend.trash(id))

    async def restore(self, id: str) -> None:
        """Bring a session back from the trash. Raises SessionNotFound when it is not there."""
        await self._job(lambda: self._backend.restore(id))

    async def purge(self, id: str) -> None:
        """Remove a session for good, in the trash or not; forks of it are not harmed.

        Raises SessionNotFound, SessionBusy.
        """
        await self._job(lambda: self._backend.purge(id))

    async def copy(self, id: str, other: Store, progress: Progress = _no_progress) -> Copied:
        """Copy a session and the blobs that it names to another store, under the same id, with the same bytes.

        What is there already is not copied again, so that a copy that was cancelled can be begun again. Lists show
        of it what they show of the original: when it was last used, its title and preview, and the trash that it lies
        in. A session that this process holds is flushed first.

        Raises:
            SessionNotFound, SessionCorrupt: as `open` for reading.
            SessionExists: the other store has another session of this id.
            SessionBusy: somebody writes the copy.
        """
        live = self._live.get(id)
        if live is not None:
            await live.flush()
        copying = copy_session(id, self._backend, other._backend)
        try:
            while isinstance(step := await other._job(lambda: next_step(copying)), tuple):
                progress(*step)
            return step
        finally:
            await asyncio.shield(other._job(copying.close))

    async def verify(self, id: str, head: End | None = None, progress: Progress = _no_progress) -> Verified:
        """Read a whole session, one in the trash too, and tell what is damaged; compare it with a head that was kept.

        Raises:
            SessionNotFound: there is none.
        """

        return await asyncio.to_thread(verify_stored, id, self._backend, self._vocabulary, head, progress)

    async def salvage(self, id: str) -> Salvage:
        """Make a new session of what is sound of a damaged one, which is not touched.

        Raises:
            SessionNotFound: there is none.
        """

        def job() -> Salvaged:
            with closing(self._backend.reader(id)) as reader:
                return salvaged(id, reader, self._vocabulary)

        found = await asyncio.to_thread(job)
        await self.add(found.log.header, found.log.events)
        return Salvage.of(found)

    async def check(self, progress: Progress = _no_progress) -> Checked:
        """Verify every session, those in the trash too, every blob, and what holds them; `progress` counts sessions."""
        return await asyncio.to_thread(check_store, self._backend, self._vocabulary, progress)

    async def unnamed_blobs(self, young_ms: int = YOUNG_MS) -> Sequence[StoredBlob]:
        """Give the blobs that nothing names, in the trash neither, and that were not put within the last hour.

        Raises:
            StoreError: a session cannot be read whole, so that it is not known what it names.
        """
        return await asyncio.to_thread(unnamed_blobs, self._backend, young_ms)

    async def drop_blobs(self, blobs: Iterable[StoredBlob]) -> None:
        """Remove blobs for good."""
        for blob in blobs:
            await self._job(partial(self._backend.drop_blob, blob.hash))

    async def close(self) -> None:
        """Close every session that is open for writing, and the store.

        Raises:
            WriteFailed: something could not be made durable. The store and the sessions that it is of stay open,
                so that it may be tried again.
        """
        if self._closed:
            return
        failed: list[WriteFailed] = []
        for session in list(self._live.values()):
            try:
                await session.close()
            except WriteFailed as error:
                failed.append(error)
        if failed:
            raise failed[0]
        await self._end()

    async def _end(self) -> None:
        """End the writer, which tries once more, and give back what is still held."""
        self._closed = True
        await asyncio.to_thread(self._writer.close)
        for session in list(self._live.values()):
            session._ended()
        self._backend.close()

    async def __aenter__(self) -> Self:
        return self

    def _orphaned(self) -> None:
        """This process is a fork of the one that opened the store: its writer and its locks are not here."""
        self._closed = True
        self._writer.orphaned()
        for session in self._live.values():
            session._ended()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            await self.close()
        finally:
            if not self._closed:
                await self._end()


def _orphaned() -> None:
    for store in tuple(_opened):
        store._orphaned()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_orphaned)


@asynccontextmanager
async def open_store(
    url: str | None = None, *, vocabulary: Vocabulary = CORE, window: float = WINDOW
) -> AsyncIterator[Store]:
    """Open a store for the time of an `async with`; the default one when `url` is None.

    `memory:`, `memory:NAME`, `sqlite:///path/file.db`, `jsonl:///path/folder`, or what a plugin added. A path
    after `scheme:///` is absolute; after `scheme:` it may be relative, or begin with `~`. `vocabulary` is what
    sessions are opened with, `window` how long events gather before they are written, in seconds.

    Raises:
        UrlInvalid: the URL names no store. It is a StoreError.
        StoreError: the store cannot be opened.
        FormatUnsupported: the store is of a later version.
    """
    target = url or default_url()
    backend = opener_of(target)(target)
    async with Store(backend, vocabulary, window) as store:
        yield store
