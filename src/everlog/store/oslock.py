"""Locks of the operating system, which end with the process that holds them. What differs by system stands here.

On POSIX systems this is `flock` on a file of its own; elsewhere, a locked byte of it. The file says who holds
it. It is removed when the lock is given back; one that a dead process left is taken over at once.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

_TRIES, _PAUSE = 20, 0.002
"""A look at the holder takes the lock for a moment; a taker comes again, for so many seconds in all."""


class Held(Exception):
    """Somebody holds the lock.

    Attributes:
        holder: who, like `pid 4711 on myhost since 2026-01-01 12:30:05`.
    """

    def __init__(self, holder: str) -> None:
        super().__init__(f"held by {holder}")
        self.holder = holder


class FileLock:
    """An exclusive lock, held until `release` or the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def acquire(cls, path: Path) -> FileLock:
        """Take the lock at once. Raises Held when somebody has it, in this process or another."""
        for _ in range(_TRIES):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            if not _try_lock(descriptor):
                os.close(descriptor)
            elif not _is_at(path, descriptor):
                os.close(descriptor)  # the one who held it has removed the file; the next try makes a new one
                continue
            else:
                with suppress(OSError):  # a full disk, maybe; the lock holds without a name too
                    _sign(descriptor)
                return cls(path, descriptor)
            time.sleep(_PAUSE)
        raise Held(_signature(path))

    @property
    def held(self) -> bool:
        """Tell whether it was not given back."""
        return self._descriptor is not None

    @property
    def intact(self) -> bool:
        """Tell whether the lock file is still the one that was locked."""
        return self._descriptor is not None and _is_at(self._path, self._descriptor)

    def release(self) -> None:
        """Give it back. A second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if _is_at(self._path, descriptor):
            _remove(self._path)
        os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def wait_for(path: Path, seconds: float = 30.0) -> FileLock:
    """Take a lock that its holders keep for moments only, waiting for it. Raises Held when that takes too long."""
    give_up = time.monotonic() + seconds
    while True:
        try:
            return FileLock.acquire(path)
        except Held:
            if time.monotonic() > give_up:
                raise


def holder_of(path: Path) -> str | None:
    """Give who holds the lock, or None when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        return None if _try_share(descriptor) else _signature(path)
    finally:
        os.close(descriptor)


def _sign(descriptor: int) -> None:
    """Say in the file who holds it, for those who are refused."""
    import socket  # for the name alone, which only a writer tells

    who = {"pid": os.getpid(), "host": socket.gethostname(), "since": int(time.time())}
    os.ftruncate(descriptor, 0)
    os.write(descriptor, msgspec.json.encode(who))


def _signature(path: Path) -> str:
    try:
        who = msgspec.json.decode(path.read_bytes())
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(who["since"]))
        return f"pid {who['pid']} on {who['host']} since {since}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    mine = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


if sys.platform == "win32":
    import msvcrt

    _BYTE = 1 << 30  # far behind the signature, which others may read

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True

    _try_share = _try_lock

    def _remove(path: Path) -> None:
        """Leave it: an open file cannot be removed here, and a file that nobody locks is as good as none."""

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        return _flock(descriptor, fcntl.LOCK_EX)

    def _try_share(descriptor: int) -> bool:
        return _flock(descriptor, fcntl.LOCK_SH)

    def _flock(descriptor: int, kind: int) -> bool:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _remove(path: Path) -> None:
        path.unlink(missing_ok=True)
