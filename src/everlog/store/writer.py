"""The writer: one thread per store that does all its writing, behind the sessions that append.

Events gather in a pen for a short window, or until they are many, and then go as one batch. A batch that
fails is kept and tried again, after a pause that grows to two seconds, and at once when somebody flushes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from typing import TypeVar

from everlog.store.backend import Backend
from everlog.store.errors import BlobMissing
from everlog.store.pen import Pen

T = TypeVar("T")

WINDOW = 0.05
"""How long events gather, in seconds."""

_NEVER = float("inf")

_log = logging.getLogger("everlog.store")


class Writer:
    """Runs jobs, and writes what the pens hold, on a thread of its own."""

    def __init__(self, backend: Backend, window: float = WINDOW) -> None:
        self._backend = backend
        self._window = window
        self._jobs: deque[Callable[[], None]] = deque()
        self._pens: set[Pen] = set()
        self._blobs: dict[str, bytes] = {}
        self._calling = threading.Lock()
        self._asleep = threading.Lock()  # held while there is nothing new; a condition costs a flush tens of µs
        self._asleep.acquire()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="everlog-writer", daemon=True)
        self._thread.start()

    def call(self, job: Callable[[], T]) -> Future[T]:
        """Run a job on the writer thread, after what was asked of it before."""
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)

        with self._calling:
            if self._ending:
                raise RuntimeError("the store is closed")
            self._jobs.append(run)
        self.wake()
        return future

    def add(self, pen: Pen) -> None:
        """Write what this pen holds from now on; called on the writer thread."""
        self._pens.add(pen)

    def remove(self, pen: Pen) -> None:
        """Write it no longer; called on the writer thread."""
        self._pens.discard(pen)

    def wake(self) -> None:
        """Look at the pens again."""
        with suppress(RuntimeError):  # somebody woke it already
            self._asleep.release()

    @property
    def window(self) -> float:
        """Give how long events gather, in seconds."""
        return self._window

    def put_blob(self, data: bytes) -> str:
        """Keep a blob, written before any event that is appended from now on; give its hash."""
        hash = sha256(data).hexdigest()
        self._blobs[hash] = bytes(data)
        return hash

    def blob(self, hash: str) -> bytes:
        """Give a blob, written or not. Raises BlobMissing."""
        found = self._blobs.get(hash)
        return self._backend.blob(hash) if found is None else found

    def store_blobs(self) -> bool:
        """Write the blobs that were put; on the writer thread. Tells whether there were any."""
        written = False
        for hash in list(self._blobs):
            self._backend.put_blob(hash, self._blobs[hash])
            del self._blobs[hash]
            written = True
        return written

    def close(self) -> None:
        """End the thread, after the jobs that were asked for and one last try to write everything."""
        with self._calling:
            self._ending = True
        self.wake()
        self._thread.join()

    def orphaned(self) -> None:
        """Take no job any more: this process is a fork of the one whose thread it was."""
        self._calling = threading.Lock()  # the other may have been held at the fork
        self._ending = True

    def _run(self) -> None:
        while True:
            ending = self._ending  # before the jobs: none is asked for after it
            for _ in range(len(self._jobs)):  # not those that follow on them, for which no pen shall wait
                self._jobs.popleft()()
            pause = self._write_out(ending)
            if ending:
                for pen in self._pens:
                    pen.end()
                return
            if pause and not self._jobs:
                self._asleep.acquire(timeout=-1 if pause == _NEVER else pause)

    def _write_out(self, ending: bool) -> float:
        """Have those pens write whose time has come; give how long there is nothing to do then, in seconds."""
        due = _NEVER
        for pen in tuple(self._pens):
            if ending or pen.due <= time.monotonic():
                pen.write_out()
            due = min(due, pen.due)
        return due if due == _NEVER else max(0.0, due - time.monotonic())


class StoreBlobs:
    """The blobs of a store, as tools and adapters see them."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def put(self, data: bytes) -> str:
        """Keep the bytes, and give their SHA-256; the next flush of any session makes them durable."""
        return self._writer.put_blob(data)

    def get(self, blob: str) -> bytes:
        """Give the bytes of a hash. Raises BlobMissing, a LookupError, when there are none."""
        return self._writer.blob(blob)


__all__ = ["WINDOW", "BlobMissing", "StoreBlobs", "Writer"]
