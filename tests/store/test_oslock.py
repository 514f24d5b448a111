"""The lock of the operating system that a writer holds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everlog.store.oslock import FileLock, Held, holder_of


@contextmanager
def no_room() -> Iterator[None]:
    """Let no file of this process grow, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
def test_a_lock_that_cannot_be_signed_is_held_and_can_be_given_back(tmp_path: Path) -> None:
    path = tmp_path / "s.lock"
    with no_room():
        lock = FileLock.acquire(path)
    with pytest.raises(Held):
        FileLock.acquire(path)
    assert holder_of(path) == "another process"
    lock.release()
    assert holder_of(path) is None
    FileLock.acquire(path).release()
