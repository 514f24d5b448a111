"""Every call that changes a file, in one place: so that its order can be recorded, and faults be put into it.

What is POSIX-only of these calls stands here too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

if sys.platform == "darwin":
    import fcntl

    def _sync(descriptor: int) -> None:
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync leaves data in the drive's own cache there

elif sys.platform == "win32":
    _sync: Callable[[int], None] = os.fsync
else:
    _sync = os.fdatasync

if sys.platform == "win32":

    def read_at(descriptor: int, count: int, offset: int) -> bytes:
        """Give up to so many bytes from an offset on."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, count)

    def _write_at(descriptor: int, data: memoryview, offset: int) -> int:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.write(descriptor, data)

else:

    def read_at(descriptor: int, count: int, offset: int) -> bytes:
        """Give up to so many bytes from an offset on."""
        return os.pread(descriptor, count, offset)

    def _write_at(descriptor: int, data: memoryview, offset: int) -> int:
        return os.pwrite(descriptor, data, offset)


_PIECE = 8 * 1024 * 1024


class Disk:
    """The calls as the operating system makes them. Files are private to the user."""

    def create(self, path: Path) -> int:
        """Make a new file, and give its descriptor. Raises FileExistsError."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)

    def open(self, path: Path) -> int:
        """Open a file for reading and writing, and give its descriptor; it is made when it is not there."""
        return os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o600)

    def close(self, descriptor: int) -> None:
        """Close a file."""
        os.close(descriptor)

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        """Write all of the data at an offset."""
        view = memoryview(data)
        while view:
            written = self.write_some(descriptor, view, offset)
            view = view[written:]
            offset += written

    def write_some(self, descriptor: int, data: memoryview, offset: int) -> int:
        """Write what the system takes at once, and give how many bytes that was."""
        return _write_at(descriptor, data, offset)

    def set_time(self, path: Path, changed_at: int) -> None:
        """Have a file say that it was last changed at a time, in milliseconds since the epoch."""
        os.utime(path, ns=(changed_at * 1_000_000,) * 2)

    def copy(self, source: int, start: int, stop: int, target: int, offset: int) -> None:
        """Copy bytes from one file to another; the file system may share them."""
        while start < stop:
            count = self.copy_some(source, start, min(stop - start, 1 << 30), target, offset)
            if not count:
                raise OSError(f"the file is shorter than {stop} bytes")
            start, offset = start + count, offset + count

    def copy_some(self, source: int, start: int, count: int, target: int, offset: int) -> int:
        """Copy what the system takes at once, and give how many bytes that was."""
        if sys.platform == "linux":
            try:
                return os.copy_file_range(source, target, count, start, offset)
            except OSError:
                pass  # not on this file system; read and write
        piece = read_at(source, min(count, _PIECE), start)
        self.write(target, piece, offset)
        return len(piece)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file off."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Return when a file's bytes and its length survive a loss of power."""
        _sync(descriptor)

    def sync_folder(self, path: Path) -> None:
        """Return when the names in a folder survive a loss of power."""
        if sys.platform == "win32":
            return  # a folder cannot be synced there; NTFS journals names by itself
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Give a file or folder another name; a file that has it is replaced."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink(missing_ok=True)

    def make_folder(self, path: Path) -> None:
        """Make a folder, private to the user. Raises FileExistsError."""
        path.mkdir(mode=0o700)

    def ensure_folder(self, path: Path) -> None:
        """Make a folder unless it is there. Raises FileExistsError when something else has its name."""
        try:
            self.make_folder(path)
        except FileExistsError:
            if not path.is_dir():
                raise

    def make_folders(self, path: Path) -> None:
        """Make a folder, and those above it that are not there; return when their names survive a loss of power.

        The lowest that is there may be the work of a process that ended before it synced its name, or is about to.
        """
        path = path.absolute()
        missing = list(takewhile(lambda folder: not folder.is_dir(), (path, *path.parents)))
        there = missing[-1].parent if missing else path
        with suppress(OSError):  # most are old, and stand in a folder that may not be read, or cannot be synced
            self.sync_folder(there.parent)
        for folder in reversed(missing):
            self.ensure_folder(folder)
            self.sync_folder(folder.parent)

    def write_whole(self, path: Path, data: bytes) -> None:
        """Put a file in place that is never seen half: written beside it, synced, renamed."""
        half = path.with_name(f".{path.name}.{os.getpid()}.half")
        self.remove(half)
        descriptor = self.create(half)
        try:
            self.write(descriptor, data, 0)
            self.sync(descriptor)
        finally:
            self.close(descriptor)
        self.rename(half, path)
        self.sync_folder(path.parent)


_BINARY = getattr(os, "O_BINARY", 0)
