"""The right to write one session of the folder: an OS lock, and a file that nobody else has made longer."""

from __future__ import annotations

import os
from pathlib import Path

from everlog.store.backend import End, Summary, Torn
from everlog.store.chain import Batch
from everlog.store.disk import Disk
from everlog.store.errors import BatchRefused, LeaseLost
from everlog.store.jsonl import folders
from everlog.store.jsonl.index import Index
from everlog.store.jsonl.logfile import LogFile
from everlog.store.jsonl.places import keep_places
from everlog.store.jsonl.reader import open_log
from everlog.store.oslock import FileLock
from everlog.store.spacing import crowded

_MOST_UNSYNCED = 16 * 1024 * 1024
"""So many bytes are held in memory until a sync, for the case that one fails."""


class JsonlLease:
    """Writes one session until it is released."""

    def __init__(self, disk: Disk, folder: Path, id: str, lock: FileLock, index: Index, torn: Torn | None) -> None:
        """Take over a log whose torn end, if it had one, is set aside."""
        self._disk = disk
        self._folder = folder
        self._id = id
        self._lock = lock
        self._index = index
        self.torn = torn
        self._log: LogFile = open_log(folder, id)
        self._path = folder / f"{folders.LOG}{self._log.suffix}"
        tail = self._log.tail()
        self._end, self._offset = tail.end, tail.offset
        self._descriptor: int | None = disk.open(self._path)
        self._synced = self._offset
        self._unsynced: list[bytes] = []
        self._doubtful = False
        self._named = False
        self._shown_as_another = False

    @property
    def session(self) -> str:
        """Give the id of the session."""
        return self._id

    @property
    def end(self) -> End:
        """Give where the log ends."""
        return self._end

    def append(self, batch: Batch) -> None:
        """Write a batch at the end of the file."""
        descriptor = self._fence(batch)
        if self._offset - self._synced > _MOST_UNSYNCED:
            self.sync()
        self._write_again(descriptor)
        data = self._log.encode(batch)
        self._doubtful = True
        try:
            self._disk.write(descriptor, data, self._offset)
        except OSError as error:
            error.filename = error.filename or str(self._path)  # a descriptor has no name to tell
            raise
        self._doubtful = False
        self._unsynced.append(data)
        self._offset += len(data)
        self._end = End(batch.next_seq, batch.head)
        self._shown_as_another = False
        if batch.title is not None or batch.preview is not None:
            self._index.show(self._id, batch.title, batch.preview)

    def append_synced(self, batch: Batch) -> None:
        """Write a batch, and sync the file; when it is new, its name too."""
        self.append(batch)
        try:
            self.sync()
        except BaseException:
            self._offset -= len(self._unsynced.pop())
            self._end = End(batch.first_seq, batch.before)
            raise

    def _write_again(self, descriptor: int) -> None:
        """After a write or a sync that failed, write everything since the last good sync again.

        What a failed write left is cut off; and after a failed sync a system may count as written what is not.
        """
        if self._doubtful:
            self._disk.truncate(descriptor, self._synced)
            self._disk.write(descriptor, b"".join(self._unsynced), self._synced)
            self._doubtful = False

    def _fence(self, batch: Batch) -> int:
        if batch.session != self._id:
            raise BatchRefused(self._id, batch.first_seq, self._end.next_seq, f"it belongs to {batch.session}")
        if End(batch.first_seq, batch.before) != self._end:
            raise BatchRefused(self._id, batch.first_seq, self._end.next_seq)
        if self._descriptor is None or not self._lock.intact:
            raise LeaseLost(self._id, "its lock was taken away or given back")
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            raise LeaseLost(self._id, "the session was deleted") from None
        own = os.fstat(self._descriptor)
        if (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino):
            raise LeaseLost(self._id, "its file was replaced")
        if own.st_size != self._offset and not self._doubtful:
            raise LeaseLost(self._id, "another program wrote into its file")
        return self._descriptor

    def sync(self) -> None:
        """Sync the file, and the folders that name it."""
        if self._descriptor is None:
            raise LeaseLost(self._id, "it was given back")
        self._write_again(self._descriptor)
        self._doubtful = True
        self._disk.sync(self._descriptor)
        if not self._named:
            self._disk.sync_folder(self._folder)
            self._disk.sync_folder(self._folder.parent)
            self._named = True
        self._doubtful = False
        self._synced = self._offset
        self._unsynced.clear()

    def show_as(self, seen: Summary) -> None:
        """Take over what lists show. The time is the file's too, from which the index can be made anew."""
        if self._descriptor is None or not self._lock.intact:
            raise LeaseLost(self._id, "its lock was taken away or given back")
        self._disk.set_time(self._path, seen.updated_at)
        self._index.show_as(self._id, seen)
        self._shown_as_another = True

    def save_checkpoint(self, seq: int, data: bytes) -> None:
        """Keep a checkpoint, and of the older ones those that stand well apart, for forks."""
        self._disk.write_whole(folders.checkpoint(self._folder, seq), data)
        for gone in crowded(folders.checkpoint_seqs(self._folder)):
            self._disk.remove(folders.checkpoint(self._folder, gone))
        self._keep_places(seq + 1)

    def _keep_places(self, stop: int) -> None:
        """Keep where the events up to `stop` are, so that the next open need not look for them."""
        self._log.place_after(stop)
        places = self._log.known_places()
        if places is not None:
            keep_places(self._disk, self._folder, places[:stop])

    def release(self) -> None:
        """Give the lock back."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        self._disk.close(descriptor)
        self._log.close()
        tell = self._index.copied if self._shown_as_another else self._index.released
        tell(self._id, self._end.next_seq)
        self._lock.release()
