"""The backend on a folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from everlog.session.header import Header, now_ms
from everlog.store.backend import End, Hit, Missed, StoredBlob, Summary, unheard
from everlog.store.chain import START
from everlog.store.disk import Disk
from everlog.store.errors import BatchRefused, SessionBusy, SessionExists, SessionNotFound, UrlInvalid
from everlog.store.jsonl import folders, making, store_file
from everlog.store.jsonl.blobs import BlobFolder
from everlog.store.jsonl.folders import Folders
from everlog.store.jsonl.index import Index
from everlog.store.jsonl.lease import JsonlLease
from everlog.store.jsonl.logfile import LogFile
from everlog.store.jsonl.plain import PlainLog
from everlog.store.jsonl.reader import JsonlReader, framed
from everlog.store.names import was_made
from everlog.store.opening import stored_header
from everlog.store.oslock import FileLock, Held, holder_of
from everlog.store.urls import options_of, path_of

if TYPE_CHECKING:
    from everlog.store.backend import Backend, Lease, Reader


class JsonlBackend:
    """Keeps sessions in folders."""

    def __init__(self, root: Path, kind: type[LogFile] = PlainLog, disk: Disk | None = None) -> None:
        """Open the store in a folder, and make it when there is none; new sessions are written as `kind` of file."""
        self._folders = Folders(root)
        self._kind = kind
        self._disk = disk or Disk()
        store_file.prepare(self._folders, self._disk)
        self._blobs = BlobFolder(self._folders.blobs, self._disk)
        self._index = Index(self._folders)

    @property
    def url(self) -> str:
        """Give the URL that opens the same store."""
        end = "" if self._kind is PlainLog else "?compression=zstd"
        return f"jsonl://{self._folders.root.absolute().as_posix()}{end}"

    @property
    def folders(self) -> Folders:
        """Give where things stand."""
        return self._folders

    def _lock(self, id: str) -> FileLock:
        try:
            return FileLock.acquire(self._folders.lock(id))
        except Held as held:
            raise SessionBusy(id, held.holder) from None

    def create(self, header: Header) -> Lease:
        """Begin a session: its folder appears with its header in it."""
        return self._begin(header, lambda folder: making.new_log(self._disk, folder, self._kind, header))

    def _begin(self, header: Header, fill: making.Fill) -> Lease:
        lock = self._lock(header.id)
        try:
            if self._folders.session(header.id).exists() or self._folders.trashed(header.id).exists():
                raise SessionExists(header.id)
            making.session(self._disk, self._folders, header.id, fill)
            return self._lease(header.id, lock)
        except BaseException:
            lock.release()
            raise

    def _lease(self, id: str, lock: FileLock) -> JsonlLease:
        folder = self._folders.session(id)
        torn = making.set_aside(self._disk, folder, id)
        lease = JsonlLease(self._disk, folder, id, lock, self._index, torn)
        self._index.held(id)
        return lease

    def acquire(self, id: str) -> Lease:
        """Take the right to write a session."""
        self._folders.demand(id)
        lock = self._lock(id)
        try:
            with closing(JsonlReader(self._folders.demand(id), id)) as reader:
                header = stored_header(id, reader)  # a session of which it is damaged is none to go on with
            if header.id != id and was_made(id):
                raise SessionNotFound(id)  # the folder's name stands only for an id that cannot be read
            return self._lease(id, lock)
        except BaseException:
            lock.release()
            raise

    def fork(self, parent: str, at: End, header: Header) -> Lease:
        """Begin a session with a copy of the parent's bytes, which the file system may share."""
        with closing(JsonlReader(self._folders.demand(parent), parent)) as reader:
            record = next(iter(reader.pick([at.next_seq - 1]))) if at.next_seq else None
            if at.next_seq > reader.end().next_seq or (record.chain if record else START) != at.head:
                reason = "the parent's chain is another there"
                raise BatchRefused(parent, at.next_seq, reader.end().next_seq, reason)
            return self._begin(
                header,
                lambda folder: making.forked_log(self._disk, folder, reader, self._folders.session(parent), at, header),
            )

    def demand(self, id: str) -> None:
        """Raise SessionNotFound unless it is there."""
        self._folders.demand(id)

    def holder(self, id: str) -> str | None:
        """Give who holds a session."""
        return holder_of(self._folders.lock(id))

    def reader(self, id: str) -> Reader:
        """Open a session for reading."""
        return JsonlReader(self._folders.find(id), id)

    def list(self, limit: int, after: str | None, trashed: bool) -> Sequence[Summary]:
        """Give a page of the sessions."""
        return self._index.page(limit, after, trashed)

    def summary(self, id: str) -> Summary:
        """Give what a list shows of one session."""
        found = self._index.summary(self._folders.find(id).name)
        if found is None:
            raise SessionNotFound(id)
        return found

    def search(self, text: str, limit: int, missed: Missed = unheard) -> Sequence[Hit]:
        """Give where all words of a text stand."""
        return self._index.find(text, limit, missed)

    def trash(self, id: str) -> None:
        """Move a session's folder into the trash."""
        folder = self._folders.demand(id)
        with self._lock(id):
            self._disk.write_whole(folder / folders.TRASHED, b"%d" % now_ms())
            self._move(folder, self._folders.trashed(id))

    def restore(self, id: str) -> None:
        """Move it back."""
        folder = self._folders.trashed(id)
        if not folder.is_dir():
            raise SessionNotFound(id)
        with self._lock(id):
            self._move(folder, self._folders.session(id))
            self._disk.remove(self._folders.session(id) / folders.TRASHED)

    def _move(self, source: Path, target: Path) -> None:
        self._disk.rename(source, target)
        self._disk.sync_folder(target.parent)
        self._disk.sync_folder(source.parent)
        self._index.moved()

    def purge(self, id: str) -> None:
        """Remove a session's folder; first its name goes, at once, then what is in it."""
        folder = self._folders.find(id)
        with self._lock(id):
            going = self._folders.trash / f".going-{folder.name}"
            shutil.rmtree(going, ignore_errors=True)
            self._disk.rename(folder, going)
            self._disk.sync_folder(folder.parent)
            shutil.rmtree(going)
            self._index.moved()

    def put_blob(self, hash: str, data: bytes) -> None:
        """Keep a blob."""
        self._blobs.put(hash, data)

    def blob(self, hash: str) -> bytes:
        """Give a blob."""
        return self._blobs.get(hash)

    def blobs(self) -> Iterator[StoredBlob]:
        """Give what is known of every blob."""
        return self._blobs.all()

    def drop_blob(self, hash: str) -> None:
        """Remove a blob."""
        self._blobs.drop(hash)

    def oddities(self) -> Iterator[str]:
        """Tell of what was left by processes that ended in the middle of something."""
        for path in self._folders.left_over():
            yield f"{path} was left over when a process ended; it can be removed"

    def close(self) -> None:
        """Let go of the index; leases and readers hold their own files."""
        self._index.close()


def open_backend(url: str) -> Backend:
    """Open the folder of a URL. Raises UrlInvalid for an option that there is not."""
    return JsonlBackend(path_of(url), framed() if _compression(url) == "zstd" else PlainLog)


def demand_options(url: str) -> None:
    """Raise UrlInvalid for an option that there is not."""
    _compression(url)


def _compression(url: str) -> str:
    found = options_of(url, "compression").get("compression", "none")
    if found not in ("none", "zstd"):
        raise UrlInvalid(f"{url}: compression is zstd or none, not {found}")
    return found
