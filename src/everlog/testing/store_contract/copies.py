"""Copies of sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everlog.store import open_store
from everlog.store.backend import Backend
from everlog.store.errors import LeaseLost
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import batch_of, stored, whole_turn


class CopyContract(Suite):
    """A copy is the same session, and is shown as it."""

    def test_a_copy_is_shown_as_what_it_copies_and_stands_where_its_last_use_puts_it(self, backend: Backend) -> None:
        for n in range(6):
            self.begun(backend, f"s{n}", "text")
        for id, used_at in (("s3", 5_000), ("s1", 1_000), ("s5", 3_000), ("s4", 3_000), ("s0", 4_000)):
            lease = backend.acquire(id)
            lease.append_synced(batch_of(id, lease.end, "more"))
            seen = replace(backend.summary("s2"), updated_at=used_at, title=f"title {id}", preview=None)
            lease.show_as(seen)
            lease.sync()
            lease.release()
        order = [(found.id, found.updated_at) for found in backend.list(9, None, False)]
        times = [("s3", 5_000), ("s0", 4_000), ("s4", 3_000), ("s5", 3_000), ("s1", 1_000)]
        assert order == [("s2", backend.summary("s2").updated_at), *times]
        assert (backend.summary("s4").title, backend.summary("s4").preview) == ("title s4", None)
        assert [page[0].id for n in range(6) if (page := backend.list(1, self._cursor(backend, n), False))] == [
            id for id, _ in order
        ]

    @staticmethod
    def _cursor(backend: Backend, count: int) -> str | None:
        return backend.list(count, None, False)[-1].cursor if count else None

    def test_what_is_done_after_a_copy_is_a_use_again(self, backend: Backend) -> None:
        for id in ("s1", "s2", "s3"):
            self.begun(backend, id)
        old = replace(backend.summary("s1"), updated_at=1_000)
        lease = backend.acquire("s1")
        lease.show_as(old)
        assert [summary.id for summary in backend.list(9, None, False)] == ["s3", "s2", "s1"]
        lease.append_synced(batch_of("s1", lease.end, "more"))
        lease.release()
        assert [summary.id for summary in backend.list(9, None, False)] == ["s1", "s3", "s2"]
        lease = backend.acquire("s2")
        lease.show_as(old)
        lease.release()
        with pytest.raises(LeaseLost):
            lease.show_as(old)
        assert backend.list(9, None, False)[-1].id == "s2"
        backend.acquire("s2").release()
        assert backend.list(9, None, False)[0].id == "s2"
        assert backend.summary("s2").updated_at > 1_000

    async def test_a_copy_in_another_store_is_the_same_and_goes_on(self, store_url: str) -> None:
        async with open_store(store_url) as store, open_store("memory:") as other:
            async with await store.create({"cwd": "/work"}) as session:
                whole_turn(session, session.blobs.put(b"seen by both"))
            await store.copy(session.id, other)
            async with await store.open(session.id, "write") as again:
                whole_turn(again, "more")
            copied = await store.copy(session.id, other)
            assert (copied.events, copied.written) == (7, 4)
            async with await other.open(session.id) as found:
                assert stored(found) == stored(again)
                assert found.header.to_json() == session.header.to_json()
            assert other.blobs.get(session.messages()[0].text) == b"seen by both"
            assert (await other.verify(session.id)).head == (await store.verify(session.id)).head
            await store.purge(session.id)
            await other.copy(session.id, store)
            async with await store.open(session.id) as found:
                assert stored(found) == stored(again)
