"""Which session a command means."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from everlog.cli.opened import find_id
from everlog.store.backend import Summary
from everlog.store.memory import MemoryBackend
from everlog.store.store import Store


class Listed(MemoryBackend):
    """Notes when its sessions are listed."""

    lists = 0

    def list(self, limit: int, after: str | None, trashed: bool) -> Sequence[Summary]:
        self.lists += 1
        return super().list(limit, after, trashed)


async def test_a_whole_id_is_looked_up_and_a_beginning_among_all_sessions() -> None:
    backend = Listed("memory:")
    async with Store(backend) as store:
        for id in ("alpha", "alpha-1"):
            await (await store.create({"id": id})).close()
        assert await find_id(store, "alpha", False) == "alpha"
        assert backend.lists == 0
        assert await find_id(store, "alpha-", False) == "alpha-1"
        assert backend.lists


@pytest.mark.parametrize("given", ["gone", "gon"])
async def test_a_session_in_the_trash_is_found_after_those_that_are_not(given: str) -> None:
    async with Store(MemoryBackend("memory:")) as store:
        for id in ("gone", "gone-not"):
            await (await store.create({"id": id})).close()
        await store.delete("gone")
        assert await find_id(store, given, False) == "gone-not"
        await store.delete("gone-not")
        assert await find_id(store, "gone", False) == "gone"
