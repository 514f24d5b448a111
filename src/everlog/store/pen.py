"""The pen: the events of one session on their way to the store."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from everlog.session.event import Event
from everlog.store import chain, checkpoints
from everlog.store.backend import End, Lease
from everlog.store.chain import Batch
from everlog.store.errors import BatchRefused, LeaseLost, WriteFailed
from everlog.store.texts import preview_of, title_of

if TYPE_CHECKING:
    from everlog.store.writer import Writer

Answer: TypeAlias = Callable[[BaseException | None], object]
"""Called on the writer thread with None when all is durable, or with what went wrong."""

BATCH_BYTES = 64 * 1024
"""So many bytes of event data make a batch before the window is over."""
_MOST_BYTES = 4 * 1024 * 1024
"""No batch is made longer than this, but for one event."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_NEVER = float("inf")

_log = logging.getLogger("everlog.store")


class CheckpointDue:
    """Stands in the queue after the events that it covers; `state` is the log's, as JSON bytes."""

    __slots__ = ("state",)

    def __init__(self, state: bytes) -> None:
        self.state = state


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
        due: when the writer should look at it next, in seconds of the monotonic clock.
        failure: why the last try to write failed; None when it did not.
        lost: why nothing can be written any more; None while it can.
    """

    def __init__(self, writer: Writer, lease: Lease, types: set[str], notice: Callable[[], object]) -> None:
        self.due = _NEVER
        self.failure: WriteFailed | None = None
        self.lost: LeaseLost | BatchRefused | None = None
        self._writer = writer
        self._lease = lease
        self._types = types
        self._notice = notice
        self._queue: deque[Event | CheckpointDue] = deque()
        self._size = 0
        self._stirred = False
        self._hurried = False
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

    def write(self, event: Event) -> None:
        """Take the next event; from the session's thread."""
        self._queue.append(event)
        self._size += len(event.data_json)
        if not self._stirred:
            self._stirred = True
            self._call_at(time.monotonic() + self._writer.window)
        elif self._size >= BATCH_BYTES and not self._hurried:
            self._hurried = True
            self._call_at(0.0)

    def keep(self, state: bytes) -> None:
        """Keep a checkpoint once the events before it are stored; from the session's thread."""
        self._queue.append(CheckpointDue(state))

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
        self._stirred = self._hurried = False
        self._size = 0
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
        self._answer()

    def _write_all(self) -> None:
        waits = bool(self._waiters)
        blobs = False
        while self._take():
            # A blob is put before the event that names it is appended: those of this batch are all here now.
            blobs = self._writer.store_blobs() or blobs
            batch = self._batch
            if batch is not None and batch.data:
                if waits and not self._queue:
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
        queue, types, size = self._queue, self._types, 0
        data: list[bytes] = []
        title: str | None = None
        preview: str | None = None
        while queue and size < _MOST_BYTES:
            item = queue.popleft()
            if isinstance(item, CheckpointDue):
                self._checkpoint = item
                break
            own = item.to_json()
            data.append(own)
            size += len(own)
            if not item.ignorable:
                types.add(item.type)
            if item.type == "session/title":
                title = title_of(item) or title
            elif preview is None and item.type == "user/message":
                preview = preview_of(item)
        if not data and self._checkpoint is None:
            return False
        stored = self._stored
        seals = chain.seal(stored.head, data)
        self._batch = Batch(self._lease.session, stored.next_seq, stored.head, data, seals, title, preview)
        return True

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
        pending = len(self._queue) + (len(self._batch.data) if self._batch else 0)
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

    def _answer(self) -> None:
        """Answer those whose wait is over."""
        wait: list[Waiter] = []
        while self._waiters:
            waiter = self._waiters.popleft()
            if self.lost is not None:
                waiter.answer(self.lost)
            elif self.failure is None and waiter.target <= self._durable:
                waiter.answer(None)
            elif self.failure is not None and not waiter.patient:
                waiter.answer(self.failure)
            else:
                wait.append(waiter)
        if wait:
            self._waiters.extendleft(reversed(wait))
            if self.failure is None:
                self.due = 0.0
