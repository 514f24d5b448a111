"""What the parts of the suite have in common."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any, ClassVar

import pytest

from everlog.session.header import Header, new_header
from everlog.store.backend import Backend
from everlog.store.chain import Record
from everlog.store.urls import opener_of
from everlog.testing.store_contract.telling import batch_of


def _sync(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a coroutine test by itself, so that the suite needs no plugin of pytest."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))  # type: ignore[arg-type]

    return run


def _tests_of(cls: type) -> None:
    """Make every coroutine test of a class an ordinary one."""
    for name, test in list(vars(cls).items()):
        if name.startswith("test_") and inspect.iscoroutinefunction(test):
            setattr(cls, name, _sync(test))


class Suite:
    """What every part of the suite is made of: the URL of a fresh store, and its core."""

    one_process: ClassVar[bool] = False
    """Whether the store cannot be opened by another process."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _tests_of(cls)

    @pytest.fixture
    def store_url(self) -> str:
        """Give the URL of a fresh store. The one thing that a subclass has to bring."""
        raise NotImplementedError("a store's test class brings the fixture store_url")

    @pytest.fixture
    def backend(self, store_url: str) -> Any:
        """Open the core."""
        with closing(opener_of(store_url)(store_url)) as backend:
            yield backend

    def records(self, backend: Backend, id: str) -> list[Record]:
        """Read every record of a session."""
        with closing(backend.reader(id)) as reader:
            return list(reader.read(0, reader.end().next_seq))

    def begun(self, backend: Backend, id: str, *texts: str) -> Header:
        """Make a session that says something, and let go of it."""
        header = new_header(id=id)
        lease = backend.create(header)
        if texts:
            lease.append_synced(batch_of(id, lease.end, *texts))
        lease.release()
        return header
