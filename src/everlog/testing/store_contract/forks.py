"""Forks of sessions."""

from __future__ import annotations

from contextlib import closing

import pytest

from everlog.session.errors import ForkRefused
from everlog.session.header import new_header
from everlog.store import open_store
from everlog.store.backend import Backend, End
from everlog.store.chain import START, Record
from everlog.store.errors import BatchRefused, SessionNotFound
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import batch_of, call_under_way, stored, whole_turn


class ForkContract(Suite):
    """A fork holds the events of its parent, and lives its own life."""

    def test_a_fork_has_the_events_of_its_parent_and_its_own(self, backend: Backend) -> None:
        self.begun(backend, "p", *"abcdef")
        with closing(backend.reader("p")) as reader:
            at = End(4, next(iter(reader.pick([3]))).chain)
        lease = backend.fork("p", at, new_header(id="c", parent_session="p", inherited_events=4))
        assert lease.end == at
        lease.append_synced(batch_of("c", at, "child"))
        lease.release()
        parent, child = self.records(backend, "p"), self.records(backend, "c")
        assert len(parent) == 6
        assert child[:4] == parent[:4]
        assert child[4:] == [Record(*pair) for pair in zip(*batch_of("c", at, "child")[3:5], strict=True)]
        with closing(backend.reader("c")) as reader:
            assert list(reader.pick([4, 0, 3])) == [child[4], child[0], child[3]]

    def test_a_fork_of_what_the_parent_does_not_hold_is_refused(self, backend: Backend) -> None:
        self.begun(backend, "p", "a")
        for wrong in (End(1, bytes(20)), End(2, START)):
            with pytest.raises(BatchRefused):
                backend.fork("p", wrong, new_header(id="c"))
        with pytest.raises(SessionNotFound):
            backend.fork("nobody", End(0, START), new_header(id="c"))
        with pytest.raises(SessionNotFound):
            backend.reader("c")

    def test_parent_and_child_do_not_see_each_other(self, backend: Backend) -> None:
        self.begun(backend, "p", "a", "b")
        with closing(backend.reader("p")) as reader:
            end = reader.end()
        child = backend.fork("p", end, new_header(id="c"))
        parent = backend.acquire("p")
        child.append(batch_of("c", end, "child"))
        parent.append(batch_of("p", end, "parent"))
        child.append_synced(batch_of("c", child.end, "child again"))
        child.release()
        parent.release()
        assert b"parent" in self.records(backend, "p")[2].data
        assert [b"child" in record.data for record in self.records(backend, "c")] == [False, False, True, True]
        assert len(self.records(backend, "p")) == 3

    def test_forks_outlive_every_session_before_them(self, backend: Backend) -> None:
        self.begun(backend, "g0", "a")
        for n in range(1, 5):
            with closing(backend.reader(f"g{n - 1}")) as reader:
                end = reader.end()
            lease = backend.fork(f"g{n - 1}", end, new_header(id=f"g{n}"))
            lease.append_synced(batch_of(f"g{n}", end, f"generation {n}"))
            lease.release()
        whole = self.records(backend, "g4")
        for n in (2, 0, 1, 3):
            backend.purge(f"g{n}")
            assert self.records(backend, "g4") == whole
        assert [summary.id for summary in backend.list(9, None, False)] == ["g4"]
        backend.purge("g4")
        assert list(backend.list(9, None, False)) == []
        assert list(backend.oddities()) == []

    async def test_a_fork_ends_what_it_inherits_and_lives_its_own_life(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as parent:
            for n in range(3):
                whole_turn(parent, f"turn {n}")
            async with await store.fork(parent.id, at=5) as child:
                assert stored(child)[:6] == stored(parent)[:6]
                assert [event.type for event in child.events][6:] == ["session/end-seed"]
                assert child.header.parent_session == parent.id
                assert child.header.inherited_events == 6
                whole_turn(child, "the child's")
                whole_turn(parent, "the parent's")
                async with await store.fork(child.id) as grandchild:
                    whole_turn(grandchild, "the grandchild's")
            for session in (parent, child, grandchild):
                await session.close()
                async with await store.open(session.id) as found:
                    assert stored(found) == stored(session)
                    assert list(found.messages()) == list(session.messages())
                    assert found.violations == ()

    async def test_a_fork_within_a_turn_is_refused_or_closed(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as parent:
            whole_turn(parent)
            call_under_way(parent)
            with pytest.raises(ForkRefused) as refused:
                await store.fork(parent.id)
            assert (refused.value.before, refused.value.after) == (2, None)
            async with await store.fork(parent.id, open_turn="close") as child:
                types = [event.type for event in child.events][parent.next_seq :]
                assert types == ["session/end-seed", "tool/result", "step/end", "turn/end"]
            async with await store.open(child.id) as found:
                assert found.violations == ()
