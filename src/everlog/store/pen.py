"""The pen: the events of one session on their way to the store."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from everlog.session.event import Event
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
_MOST_BYTES = 4 * 1024 * 1024
"""No batch is made longer than this, but for one event."""
_NOT_BEFORE = 1 << 62
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_NEVER = float("inf")

_log = logging.getLogger("everlog.store")


class CheckpointDue(NamedTuple):
    """A checkpoint that is kept once the first `next_seq` events are stored; `state` is the log's, as JSON bytes."""

    next_seq: int
    state: bytes


class Waiter:
    """Somebody who wants everything before `target` durable; a patient one waits through failures."""

    __slots__ = ("answer", "patient", "target")

    def __init__(self, target: int, answer: Answer, patient: bool) -> None:
        self.target = target
        self.answer = answer
        self.patient = patient


class Pen:
    """Takes events from the session's thread and writes them on the writer's.

    Attributes:
        queue: the events that are not taken up yet; the session adds to it.
        stir_at: the session calls `stir` with the first event that has this seq or a later one.
        due: when the writer should look at it next, in seconds of the monotonic clock.
        failure: why the last try to write failed; None when it did not.
        lost: why nothing can be written any more; None while it can.
    """

    def __init__(self, writer: Writer, lease: Lease, types: set[str], notice: Callable[[], object]) -> None:
        self.queue: deque[Event] = deque()
        self.stir_at = 0
        self.due = _NEVER
        self.failure: WriteFailed | None = None
        self.lost: LeaseLost | BatchRefused | None = None
        self._writer = writer
        self._lease = lease
        self._types = types
        self._notice = notice
        self._gathering = False
        self._checkpoints: deque[CheckpointDue] = deque()
        self._previewed = False
        self._waiters: deque[Waiter] = deque()
        self._batch: Batch | None = None
        self._checkpoint: CheckpointDue | None = None
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
        """Give the types of the events so far that are not ignorable; of the writer's thread."""
        return self._types

    @property
    def lease(self) -> Lease:
        """Give the right that it writes with."""
        return self._lease

    def stir(self, seq: int) -> None:
        """Have the queue written when the window is over, or at once when it is long; from the session's thread."""
        if self._gathering:
            self.stir_at = _NOT_BEFORE
            self._call_at(0.0)
        else:
            self._gathering = True
            self.stir_at = seq + BATCH_EVENTS
            self._call_at(time.monotonic() + self._writer.window)

    def keep(self, checkpoint: CheckpointDue) -> None:
        """Keep a checkpoint once the events before it are stored; from the session's thread."""
        self._checkpoints.append(checkpoint)
        self._call_at(time.monotonic() + self._writer.window)

    def flush(self, target: int, answer: Answer, patient: bool) -> None:
        """Call `answer` when everything before the seq `target` is durable, or when a try to make it so failed."""
        self._waiters.append(Waiter(target, answer, patient))
        if not patient or self.failure is None:
            self._call_at(0.0)

    def _call_at(self, due: float) -> None:
        if due < self.due and (self.failure is None or due == 0.0):
            self.due = due
        self._writer.wake()

    def write_out(self) -> None:
        """Write what there is, synced when somebody waits for it; on the writer's thread. Raises nothing."""
        self.due = _NEVER
        seen = len(self._waiters)
        self._gathering, self.stir_at = False, 0
        try:
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
            if batch is not None and batch.data:
                if waits and not self.queue:
                    self._lease.append_synced(batch)
                    self._durable = batch.next_seq
                else:
                    self._lease.append(batch)
                self._stored = End(batch.next_seq, batch.head)
            self._batch = None
            self._save()
        blobs = self._writer.store_blobs() or blobs
        if waits and (blobs or self._durable < self._stored.next_seq):
            self._lease.sync()
            self._durable = self._stored.next_seq

    def _take(self) -> bool:
        """Make the next batch of the queue, up to a checkpoint; one that failed comes again. False: none is left."""
        if self._batch is not None:
            return True
        due = self._checkpoints[0] if self._checkpoints else None
        room = len(self.queue) if due is None else min(len(self.queue), due.next_seq - self._stored.next_seq)
        events = self._drained(room)
        if due is not None and due.next_seq <= self._stored.next_seq + len(events):
            self._checkpoint = self._checkpoints.popleft()
        if not events and self._checkpoint is None:
            return False
        stored, data = self._stored, [event.to_json() for event in events]
        title, preview = self._shown(events)
        seals = chain.seal(stored.head, data)
        self._batch = Batch(self._lease.session, stored.next_seq, stored.head, data, seals, title, preview)
        return True

    def _drained(self, room: int) -> list[Event]:
        """Take up to so many events off the queue, and not many more bytes than a batch may have."""
        events: list[Event] = []
        take, size = self.queue.popleft, 0
        while len(events) < room and size < _MOST_BYTES:
            event = take()
            events.append(event)
            size += len(event.data_json)
        return events

    def _shown(self, events: list[Event]) -> tuple[str | None, str | None]:
        """Note the types of some events, and give the title and the preview that they bring."""
        types = {event.type for event in events}
        self._types |= {event.type for event in events if not event.ignorable}
        title: str | None = None
        preview: str | None = None
        if "session/title" in types:
            titles = [found for event in events if (found := title_of(event))]
            title = titles[-1] if titles else None
        if "user/message" in types and not self._previewed:
            preview = next((found for event in events if (found := preview_of(event))), None)
            self._previewed = preview is not None
        return title, preview

    def _save(self) -> None:
        """Keep the checkpoint that stood behind the batch. One that cannot be kept is only worth a line in the log."""
        due, self._checkpoint = self._checkpoint, None
        if due is None:
            return
        try:
            seq = self._stored.next_seq - 1
            data = checkpoints.pack(seq, self._stored.head, self._types, due.state)
            self._lease.save_checkpoint(seq, data)
        except Exception as error:
            _log.warning("session %s: a checkpoint was not kept: %s", self._lease.session, error)

    def _failed(self, error: Exception) -> None:
        first = self.failure is None
        pending = len(self.queue) + (len(self._batch.data) if self._batch else 0)
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
