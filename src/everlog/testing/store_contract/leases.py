"""Leases: the right to write a session."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from everlog.session.header import new_header
from everlog.store import open_store
from everlog.store.backend import Backend, End
from everlog.store.chain import START
from everlog.store.errors import BatchRefused, LeaseLost, SessionBusy
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import batch_of, say, stored


class LeaseContract(Suite):
    """A batch follows what is stored, and one writer stores it."""

    def test_a_batch_that_does_not_follow_is_refused_and_nothing_of_it_is_stored(self, backend: Backend) -> None:
        lease = backend.create(new_header(id="s"))
        lease.append(batch_of("s", lease.end, "one", "two"))
        end = lease.end
        for wrong in (
            batch_of("s", End(0, START), "again"),
            batch_of("s", End(3, end.head), "a gap"),
            batch_of("s", End(2, bytes(range(20))), "another chain"),
            batch_of("other", end, "another session"),
        ):
            with pytest.raises(BatchRefused):
                lease.append(wrong)
        lease.append_synced(batch_of("s", end, "three"))
        lease.release()
        assert len(self.records(backend, "s")) == 3

    def test_a_lease_that_was_given_back_writes_no_more(self, backend: Backend) -> None:
        lease = backend.create(new_header(id="s"))
        lease.append(batch_of("s", lease.end, "one"))
        late = batch_of("s", lease.end, "late")
        lease.release()
        lease.release()
        with pytest.raises((LeaseLost, BatchRefused)):
            lease.append(late)
        assert len(self.records(backend, "s")) == 1

    def test_one_writer_at_a_time(self, backend: Backend) -> None:
        lease = backend.create(new_header(id="s"))
        with pytest.raises(SessionBusy) as refused:
            backend.acquire("s")
        assert refused.value.holder
        assert backend.holder("s") == refused.value.holder
        lease.release()
        assert backend.holder("s") is None
        again = backend.acquire("s")
        again.append_synced(batch_of("s", again.end, "one"))
        again.release()

    async def test_a_second_opening_for_writing_is_refused(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as session:
            with pytest.raises(SessionBusy):
                await store.open(session.id, "write")
            async with open_store(store_url) as other:
                with pytest.raises(SessionBusy):
                    await other.open(session.id, "write")
            say(session, "still mine")
            await session.flush()

    async def test_a_dead_holder_is_taken_over_at_once(self, store_url: str) -> None:
        async with open_store(store_url) as store:
            async with await store.create() as session:
                say(session, "hello")
            async with self.other_process(store_url, session.id) as child:
                with pytest.raises(SessionBusy) as refused:
                    await store.open(session.id, "write")
                assert str(child.pid) in refused.value.holder
                child.kill()
                await asyncio.to_thread(child.wait)
                async with await store.open(session.id, "write") as again:
                    assert stored(again) == stored(session)

    @asynccontextmanager
    async def other_process(self, url: str, id: str) -> AsyncIterator[subprocess.Popen[str]]:
        """Have another process hold a session, until the end or until it is killed."""
        if self.one_process:
            pytest.skip("this store lives in one process")
        child = _child(_HOLDS, url, id)
        try:
            assert child.stdout is not None
            assert await asyncio.to_thread(child.stdout.readline) == "held\n"
            yield child
        finally:
            child.kill()
            child.communicate()


_HOLDS = """
import asyncio, sys
from everlog import open_store
async def main(url, id):
    async with open_store(url) as store, await store.open(id, "write"):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main(*sys.argv[1:]))
"""


def _child(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start another process."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
