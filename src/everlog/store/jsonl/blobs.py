"""Blobs as files, named by their SHA-256."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from everlog.store.backend import StoredBlob
from everlog.store.disk import Disk
from everlog.store.errors import BlobMissing, BlobUnreadable


class BlobFolder:
    """The blobs of one store. Each is synced, and so is its name, before `put` returns."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self._root = root
        self._disk = disk
        self._durable: set[str] = set()
        self._named: set[Path] = set()

    def _path(self, hash: str) -> Path:
        return self._root / hash[:2] / hash

    def put(self, hash: str, data: bytes) -> None:
        """Keep a blob; putting it again makes it young.

        One that is there already may be the work of a try, or of another process, whose last sync failed or is still
        to come. So it counts as durable only where this folder saw to it; else it is written anew.
        """
        path = self._path(hash)
        if hash in self._durable:
            try:
                os.utime(path)
                return
            except FileNotFoundError:
                pass
        folder = path.parent
        if not folder.is_dir():
            with contextlib.suppress(FileExistsError):  # another process has just made it
                self._disk.make_folder(folder)
        if folder not in self._named:
            self._disk.sync_folder(self._root)
            self._named.add(folder)
        self._disk.write_whole(path, data)
        self._durable.add(hash)

    def get(self, hash: str) -> bytes:
        """Give a blob. Raises BlobMissing, BlobUnreadable."""
        try:
            return self._path(hash).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise BlobMissing(hash) from None
        except OSError as error:
            raise BlobUnreadable(hash, error) from error

    def all(self) -> Iterator[StoredBlob]:
        """Give what is known of every blob."""
        for path in sorted(self._root.glob("[0-9a-f][0-9a-f]/*")):
            if not path.name.startswith("."):
                about = path.stat()
                yield StoredBlob(path.name, about.st_size, about.st_mtime_ns // 1_000_000)

    def drop(self, hash: str) -> None:
        """Remove a blob."""
        self._disk.remove(self._path(hash))
