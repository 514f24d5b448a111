"""The durable session: a session whose events are written behind it, and that can say when they are safe."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, Protocol, Self, TypeAlias

from everlog.session.behind import Behind
from everlog.session.event import Event
from everlog.session.fork import fork
from everlog.session.header import Header
from everlog.session.live import Clock, Session
from everlog.session.restoring import save
from everlog.session.vocabulary import CORE, Vocabulary
from everlog.store.backend import Torn
from everlog.store.errors import BatchRefused, LeaseLost, StoreError, WriteFailed
from everlog.store.pen import Pen

CHECKPOINT_EVERY = 1024
"""After so many events a checkpoint is kept by the first flush between turns."""
_CHECKPOINT_AT_LATEST = 8 * CHECKPOINT_EVERY
"""After so many, also within a turn and without a flush."""

_CHECKPOINT_WORTH = 128
"""Fewer events than this are read again as fast as a checkpoint."""

Trouble: TypeAlias = "WriteFailed | LeaseLost | BatchRefused | None"


class Blobs(Protocol):
    """Where large or binary content goes, by its content hash; the log keeps only the hash."""

    def put(self, data: bytes) -> str:
        """Keep the bytes, and give their SHA-256; the next flush makes them durable."""
        ...

    def get(self, blob: str) -> bytes:
        """Give the bytes of a hash. Raises BlobMissing, a LookupError, when there are none."""
        ...


class DurableSession(Session):
    """A session of a store, held for writing. Made by `Store.create`, `Store.open` and `Store.fork`.

    Appending does no I/O: events are written behind, in batches. It belongs to the event loop that opened it.
    An async context manager: leaving it flushes and gives the session back.

    Attributes:
        parent_running: for a new fork, whether another process held the parent, of which what was stored is here.
    """

    parent_running: bool = False

    def __init__(self, header: Header, vocabulary: Vocabulary = CORE, clock: Clock | None = None) -> None:
        """Only for the store, which attaches the pen once the stored events are in."""
        super().__init__(header, vocabulary, clock)
        self._pen: Pen | None = None
        self._covered = 0
        self._trouble_observers: list[Callable[[Trouble], None]] = []

    def _attach(self, pen: Pen, blobs: Blobs, release: Callable[[], Awaitable[None]], covered: int) -> None:
        """Write through a pen from now on; a checkpoint covers the first `covered` events."""
        self._pen = self._behind = pen
        self._blobs = blobs
        self._release = release
        self._torn = pen.lease.torn
        self._covered = covered

    def _goes_on_after_reload(self) -> None:
        """Have the next append preceded by a session/end-seed.

        What is asked of a first or of a last append stands in the way of those alone, and costs no other a call.
        """
        standing_in: Any = self._append_first
        self._append = standing_in  # type: ignore[method-assign]

    def _append_first(self, *first: Any) -> Event:
        """Append, after a session/end-seed unless the log ends in one.

        The append is tried on a copy before, so that one that is refused leaves no trace.
        """
        if self.last_type != "session/end-seed":
            fork(self, open_turn="close", clock=self._clock)._append(*first)
            Session._append(self, "session/end-seed", b"{}", None, None, False)
        del self._append
        return self._append(*first)

    def _takes_no_more(self, error: Exception) -> None:
        """Refuse every append from now on."""

        def refuse(*_: object) -> NoReturn:
            raise error

        standing_in: Any = refuse
        self._append = standing_in  # type: ignore[method-assign]

    def _stir(self, behind: Behind, seq: int) -> None:
        behind.stir(seq)
        if seq - self._covered >= _CHECKPOINT_AT_LATEST:
            self.keep_checkpoint()

    def _write(self, events: Sequence[Event]) -> None:
        """Have events written that are in the log already."""
        pen = self._writing
        pen.added.extend(events)
        pen.stir(self.next_seq - 1)

    def keep_checkpoint(self) -> None:
        """Have what this session knows kept beside its log, so that the next open need not read it again."""
        self._covered = self.next_seq
        if self.next_seq:
            self._writing.keep_checkpoint(self.next_seq, save(self))

    @property
    def _writing(self) -> Pen:
        if self._pen is None:
            raise StoreError(f"session {self.id} is closed; open it again")
        return self._pen

    @property
    def blobs(self) -> Blobs:
        """Give the blobs of the store."""
        return self._blobs

    @property
    def torn(self) -> Torn | None:
        """Give what was set aside from the end of the log when it was opened, or None."""
        return self._torn

    @property
    def durable_seq(self) -> int:
        """Give the seq before which everything is known to survive a loss of power."""
        return self._writing.durable

    @property
    def trouble(self) -> Trouble:
        """Give why events are not being stored; None when all is well."""
        return None if self._pen is None else self._pen.lost or self._pen.failure

    def observe_trouble(self, observer: Callable[[Trouble], None]) -> Callable[[], None]:
        """Call `observer` when writing begins to fail, and with None when all is stored again; give what ends that.

        After a `LeaseLost` or a `BatchRefused`, which no new try can mend, nothing more comes.
        """
        self._trouble_observers.append(observer)

        def undo() -> None:
            if observer in self._trouble_observers:
                self._trouble_observers.remove(observer)

        return undo

    def _tell_trouble(self) -> None:
        """Pass on what the pen met; on the session's own thread."""
        trouble = self.trouble
        if isinstance(trouble, LeaseLost | BatchRefused):
            self._takes_no_more(trouble)
        for observer in tuple(self._trouble_observers):
            observer(trouble)

    async def flush(self) -> None:
        """Return when everything appended so far, and every blob, is durable: synced to the disk.

        Raises:
            WriteFailed: a try to write it failed. The events are kept and will be tried again.
            LeaseLost: another writer took the session over.
        """
        await self._flush(patient=False)

    async def when_durable(self) -> None:
        """Return when everything appended so far is durable, however often writing it fails before. Cancellable.

        Raises:
            LeaseLost: another writer took the session over.
        """
        await self._flush(patient=True)

    def _flush(self, *, patient: bool) -> asyncio.Future[None]:
        if self.next_seq - self._covered >= CHECKPOINT_EVERY and not self.ledger.turns.is_open:
            self.keep_checkpoint()
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._writing.flush(self.next_seq, lambda error: tell(loop, _settle, done, error), patient)
        return done

    async def close(self) -> None:
        """Make everything durable, and give the session back. A second call does nothing.

        Raises:
            WriteFailed: it could not be made durable; the session stays open, and keeps its events.
        """
        pen = self._pen
        if pen is None:
            return
        if pen.lost is None:
            if self.next_seq - self._covered >= _CHECKPOINT_WORTH:
                self.keep_checkpoint()
            await self.flush()
        await self._end()

    async def abandon(self) -> None:
        """Give the session back at once. Events that are not stored yet are lost, as if the process ended here."""
        if self._pen is not None:
            await self._end()

    async def _end(self) -> None:
        await self._release()
        self._ended()

    def _ended(self) -> None:
        if self.trouble is None or isinstance(self.trouble, WriteFailed):
            self._takes_no_more(StoreError(f"session {self.id} is closed; open it again to append"))
        self._pen = self._behind = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


def tell(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    """Call on the thread of an event loop; not when that was closed, as nobody waits there any more.

    The writer goes on all the same: what was appended is still to be stored.
    """
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *args)


def _settle(done: asyncio.Future[None], error: BaseException | None) -> None:
    """Answer who waits for a flush, if somebody still does."""
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
