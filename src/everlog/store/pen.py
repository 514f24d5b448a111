"""The pen: the events of one session on their way to the store."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from everlog.session.event import Event, event_json
from everlog.store import chain, checkpoints
from everlog.store.backend import End, Lease
from everlog.store.chain import Batch
from everlog.store.errors import BatchRefused, LeaseLost, StoreError, WriteFailed
from everlog.store.texts import preview_of, title_of

if TYPE_CHECKING:
    from everlog.store.writer import Writer

Answer: TypeAlias = Callable[[BaseException | None], object]
"""Called on the writer thread with None when all is durable, or with what went wrong."""

BATCH_EVENTS = 256
"""So many events make a batch before the window is over."""
_RUN = 32
"""So many events are sealed at a time, which takes half of what it takes to seal each by itself."""
_SHOWN = ("session/title", "user/message")
_MOST_BYTES = 4 * 1024 * 1024
"""No batch is made longer than this, but for one event."""
_NOT_BEFORE = 1 << 62
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_NEVER = float("inf")

_log = logging.getLogger("everlog.store")


class CheckpointDue(NamedTuple):
    """A checkpoint that is kept once the first `next_seq` events are stored.

    Attributes:
        next_seq: how many events it covers.
        head: the chain there.
        types: the types of those events that are not ignorable.
        state: the log's own state, as JSON bytes.
    """

    next_seq: int
    head: bytes
    types: frozenset[str]
    state: bytes


class _Line(NamedTuple):
    """What an event brings that a list of sessions shows."""

    seq: int
    title: str | None
    preview: str | None


class Waiter:
    """Somebody who wants everything before `target` durable; a patient one waits through failures."""

    __slots__ = ("answer", "patient", "target")

    def __init__(self, target: int, answer: Answer, patient: bool) -> None:
        self.target = target
        self.answer = answer
        self.patient = patient


class Pen:
    """Takes events from the session's thread, and writes them on the writer's.

    They are sealed a few at a time as they come, so that little is left to do at a flush but to write.

    Attributes:
        added: the events that are not sealed yet; the session adds to it.
        stir_at: the session calls `stir` with the first event that has this seq or a later one.
        due: when the writer should look at it next, in seconds of the monotonic clock.
        failure: why the last try to write failed; None when it did not.
        lost: why nothing can be written any more; None while it can.
    """

    def __init__(self, writer: Writer, lease: Lease, types: set[str], notice: Callable[[], object]) -> None:
        self.added: list[Event] = []
        self.stir_at = 0
        self.due = _NEVER
        self.failure: WriteFailed | None = None
        self.lost: LeaseLost | BatchRefused | None = None
        self._writer = writer
        self._lease = lease
        self._types = types
        self._unremarkable = types - set(_SHOWN)
        self._notice = notice
        self._sealing = Lock()
        self._gathering = False
        self._full_at = 0
        self._checkpoints: deque[CheckpointDue] = deque()
        self._previewed = False
        self._waiters: deque[Waiter] = deque()
        # Sealed events: who seals adds at the end, a seal before its data; the writer takes from the beginning.
        self._seals: list[bytes] = []
        self._data: list[bytes] = []
        self._shown: deque[_Line] = deque()
        self._head = lease.end.head
        self._batch: Batch | None = None
        self._stored: End = lease.end
        self._durable = 0
        self._pause = _FIRST_PAUSE

    @property
    def durable(self) -> int:
        """Give the seq before which everything survives a loss of power."""
        return self._durable

    @property
    def stored(self) -> int:
        """Give the seq before which everything survives the end of this process."""
        return self._stored.next_seq

    @property
    def types(self) -> set[str]:
        """Give the types of the events so far that are not ignorable."""
        self._seal()
        return self._types

    @property
    def lease(self) -> Lease:
        """Give the right that it writes with."""
        return self._lease

    def _seal(self) -> None:
        """Seal what was added; on either thread."""
        with self._sealing:
            self._seal_added()

    def _seal_added(self) -> None:
        events = self.added[:]
        if not events:
            return
        data = list(map(event_json, events))
        seals = chain.seal(self._head, data)
        for event in events:
            if event.type not in self._unremarkable:
                self._note(event)
        # Nothing above took them away: where memory ran out for their bytes, the next look begins with them again.
        del self.added[: len(events)]  # the same list, to which the session may be adding right now
        self._head = seals[-1][4:]
        self._seals.extend(seals)
        self._data.extend(data)

    def _note(self, event: Event) -> None:
        """Note the type of an event, and the title or the preview that it brings."""
        if not event.ignorable:
            self._types.add(event.type)
            if event.type not in _SHOWN:
                self._unremarkable.add(event.type)
        title = title_of(event)
        preview = None if self._previewed else preview_of(event)
        if title is not None or preview is not None:
            self._shown.append(_Line(event.seq, title, preview))
            self._previewed = self._previewed or preview is not None

    def stir(self, seq: int) -> None:
        """Have what was added sealed, and written when the window is over or it is much; from the session's thread."""
        with self._sealing:
            with suppress(MemoryError):  # the event stands in the log already; the writer tries again, and tells
                self._seal_added()
            self.stir_at = seq + _RUN
            is_first, is_full = not self._gathering, seq >= self._full_at
            self._gathering = True
        if is_first:
            self._full_at = seq + BATCH_EVENTS
            self._call_at(time.monotonic() + self._writer.window)
        elif is_full:
            self._full_at = _NOT_BEFORE
            self._call_at(0.0)

    def keep_checkpoint(self, next_seq: int, state: bytes) -> None:
        """Keep a checkpoint of all events so far, once they are stored; from the session's thread."""
        self._seal()
        self._checkpoints.append(CheckpointDue(next_seq, self._head, frozenset(self._types), state))
        self._call_at(time.monotonic() + self._writer.window)

    def flush(self, target: int, answer: Answer, patient: bool) -> None:
        """Call `answer` when everything before the seq `target` is durable, or when a try to make it so failed."""
        self._waiters.append(Waiter(target, answer, patient))
        if not patient or self.failure is None:
            with suppress(MemoryError):
                self._seal()  # before the writer wakes and wants the interpreter too
            self._call_at(0.0)

    def _call_at(self, due: float) -> None:
        if due < self.due and (self.failure is None or due == 0.0):
            self.due = due
        self._writer.wake()

    def write_out(self) -> None:
        """Write what there is, synced when somebody waits for it; on the writer's thread. Raises nothing."""
        self.due = _NEVER
        seen = len(self._waiters)
        try:
            with self._sealing:
                # First what has the session stir again, then the look at what it added: it does these the other way.
                self._gathering, self.stir_at = False, 0
                self._seal_added()
            if self.lost is None:
                self._write_all()
        except (LeaseLost, BatchRefused) as error:
            self.lost = error
            self._notice()
        except Exception as error:
            self._failed(error)
        else:
            self._recovered()
        self._answer(seen)
        if self._checkpoints:
            self._save()

    def end(self) -> None:
        """Give the lease back, and tell those who still wait that nothing more is written; on the writer's thread."""
        self._lease.release()
        while self._waiters:
            self._waiters.popleft().answer(StoreError(f"session {self._lease.session} was closed"))

    def _write_all(self) -> None:
        waits = bool(self._waiters)
        blobs = False
        while self._take():
            # A blob is put before the event that names it is appended: those of this batch are all here now.
            blobs = self._writer.store_blobs() or blobs
            batch = self._batch
            if batch is not None:
                if waits and not self._data:
                    self._lease.append_synced(batch)
                    self._durable = batch.next_seq
                else:
                    self._lease.append(batch)
                self._stored = End(batch.next_seq, batch.head)
            self._batch = None
        blobs = self._writer.store_blobs() or blobs
        if waits and (blobs or self._durable < self._stored.next_seq):
            self._lease.sync()
            self._durable = self._stored.next_seq

    def _take(self) -> bool:
        """Make the next batch of what was added; one that failed comes again. False: nothing is left."""
        if self._batch is not None:
            return True
        data = self._data[:]
        if not data:
            return False
        if sum(map(len, data)) > _MOST_BYTES:
            del data[max(1, bisect_left(list(accumulate(map(len, data))), _MOST_BYTES)) :]
        seals = self._seals[: len(data)]
        del self._seals[: len(data)], self._data[: len(data)]
        first, head = self._stored
        title, preview = self._show(first + len(data))
        self._batch = Batch(self._lease.session, first, head, data, seals, title, preview)
        return True

    def _show(self, stop: int) -> tuple[str | None, str | None]:
        """Give the last title and the first preview that events before a seq brought."""
        title: str | None = None
        preview: str | None = None
        while self._shown and self._shown[0].seq < stop:
            shown = self._shown.popleft()
            title = shown.title or title
            preview = preview or shown.preview
        return title, preview

    def _save(self) -> None:
        """Keep the checkpoints that are due. One that cannot be kept is only worth a line in the log."""
        while self._checkpoints and self._checkpoints[0].next_seq <= self._stored.next_seq and self.lost is None:
            due = self._checkpoints.popleft()
            try:
                seq = due.next_seq - 1
                self._lease.save_checkpoint(seq, checkpoints.pack(seq, due.head, due.types, due.state))
            except Exception as error:
                _log.warning("session %s: a checkpoint was not kept: %s", self._lease.session, error)

    def _failed(self, error: Exception) -> None:
        first = self.failure is None
        pending = len(self.added) + len(self._data) + (len(self._batch.data) if self._batch else 0)
        self.failure = WriteFailed(self._lease.session, pending, error)
        self.due = min(self.due, time.monotonic() + self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        if first:
            _log.error("%s", self.failure)
            self._notice()

    def _recovered(self) -> None:
        self._pause = _FIRST_PAUSE
        if self.failure is not None:
            self.failure = None
            _log.info("session %s: everything is stored again", self._lease.session)
            self._notice()

    def _answer(self, seen: int) -> None:
        """Answer those whose wait is over. Only the first `seen` asked before this try, and may hear that it failed."""
        wait: list[Waiter] = []
        while self._waiters:
            waiter = self._waiters.popleft()
            if self.lost is not None:
                waiter.answer(self.lost)
            elif self.failure is None and waiter.target <= self._durable:
                waiter.answer(None)
            elif self.failure is not None and not waiter.patient and seen > 0:
                waiter.answer(self.failure)
            else:
                wait.append(waiter)
            seen -= 1
        if wait:
            self._waiters.extendleft(reversed(wait))
            if self.failure is None or not all(waiter.patient for waiter in wait):
                self.due = 0.0
