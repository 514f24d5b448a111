"""The suite that every kind of store passes. A package that brings one runs it with one fixture.

    from everlog.testing.store_contract import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store_url(self, tmp_path):
            return f"mine://{tmp_path}"

`store_url` gives the URL of a fresh, empty store, which may be opened more than once and by other processes
(set `one_process = True` for a store that lives in the memory of one). The URL's scheme is registered by an
entry point of the group `everlog.stores`, or with `everlog.store.add_scheme` before.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from everlog.session.errors import AppendRefused, ForkRefused, FormatUnsupported
from everlog.session.event import Event
from everlog.session.header import Header, new_header
from everlog.session.vocabulary import CORE, EventType
from everlog.store import chain, open_store
from everlog.store.backend import Backend, End
from everlog.store.chain import START, Batch, Record
from everlog.store.durable import DurableSession
from everlog.store.errors import (
    BatchRefused,
    BlobMissing,
    LeaseLost,
    SessionBusy,
    SessionExists,
    SessionNotFound,
    StoreError,
)
from everlog.store.store import Store
from everlog.store.urls import opener_of

AWKWARD_IDS = [
    "plain",
    "Plain",
    "PLAIN",
    "..",
    "../escape",
    "a/b",
    "a b",
    "con",
    ".hidden",
    "ünï-cödé",
    "漢字",
    "x" * 300,
    "quote'\"semicolon;--",
    "new\nline",
]
AWKWARD_TEXTS = [
    "NUL \x00 in the middle",
    "\u2028 \u2029 \x85 \x1c \r alone",
    "🙂 outside the basic plane",
    '"quoted" \\ back \\u0041 slash',
    "tab\tand\nnewline",
    "é as two: e\u0301",
]


def _sync(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a coroutine test by itself, so that the suite needs no plugin of pytest."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))  # type: ignore[arg-type]

    return run


def message(text: str, id: str = "m1") -> dict[str, Any]:
    """Give a user message as JSON."""
    return {"id": id, "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}}


def say(session: DurableSession, text: str) -> Event:
    """Append a user message."""
    return session.append_json("user/message", message(text, f"m{session.next_seq}"), "append")


def whole_turn(session: DurableSession, text: str = "hello") -> None:
    """Append a turn that enters a message and asks nothing."""
    turn = session.ledger.turns.last + 1
    session.append_json("turn/start", {"turn": turn})
    say(session, text)
    session.append_json("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def call_under_way(session: DurableSession) -> None:
    """Append a turn up to a call whose result is not known yet."""
    turn = session.ledger.turns.last + 1
    place = {"turn": turn, "step": 1}
    call = {"id": "call_1", "name": "bash", "arguments": "{}"}
    source = {"kind": "model", "provider": "p", "model": "m"}
    answer = {"id": "a1", "role": "assistant", "content": [{"type": "tool-call", **call}], "source": source}
    session.append_json("turn/start", {"turn": turn})
    session.append_json("step/start", place)
    header = {"config": {"provider": "p", "model": "m"}, "tools": [{"name": "bash", "effects": "mutating"}]}
    session.append_json("request/header", {"header": header, "reason": "initial"})
    session.append_json("assistant/message", {**place, "message": answer}, "append")
    session.append_json("tool/call", {**place, "callId": "call_1", "name": "bash", "arguments": "{}"})


def stored(session: Any) -> list[bytes]:
    """Give the bytes of every event."""
    return [event.to_json() for event in session.events]


def batch_of(session: str, end: End, *texts: str) -> Batch:
    """Make a batch of events that say something."""
    data = [
        json.dumps(
            {"seq": seq, "type": "user/message", "time": 1, "data": message(text), "surfaceOp": "append"},
            separators=(",", ":"),
            ensure_ascii=False,
        ).encode()
        for seq, text in enumerate(texts, end.next_seq)
    ]
    return Batch(session, end.next_seq, end.head, data, chain.seal(end.head, data))


def _tests_of(cls: type) -> None:
    """Make every coroutine test of a class an ordinary one."""
    for name, test in list(vars(cls).items()):
        if name.startswith("test_") and inspect.iscoroutinefunction(test):
            setattr(cls, name, _sync(test))


def _child(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start another process."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


class _Suite:
    """What both halves of the suite use."""

    one_process: ClassVar[bool] = False
    """Whether the store cannot be opened by another process."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _tests_of(cls)

    @pytest.fixture
    def store_url(self) -> str:
        """Give the URL of a fresh store. The one thing that a subclass has to bring."""
        raise NotImplementedError("a store's test class brings the fixture store_url")

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


class BackendContract(_Suite):
    """What the synchronous core guarantees."""

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

    def test_records_come_back_as_they_were_given(self, backend: Backend) -> None:
        header = new_header(id="s")
        lease = backend.create(header)
        first = batch_of("s", lease.end, *AWKWARD_TEXTS)
        lease.append(first)
        second = batch_of("s", lease.end, "x" * 100_000, "")
        lease.append_synced(second)
        lease.release()
        given = [*first.data, *second.data]
        with closing(backend.reader("s")) as reader:
            assert reader.header == header.to_json()
            assert reader.end() == End(len(given), second.head)
            assert [record.data for record in reader.read(0, len(given))] == given
            assert [record.seal for record in reader.read(0, len(given))] == [*first.seals, *second.seals]

    def test_any_range_and_any_choice_can_be_read(self, backend: Backend) -> None:
        self.begun(backend, "s", *(f"text {n}" for n in range(1_500)))
        with closing(backend.reader("s")) as reader:
            whole = list(reader.read(0, 1_500))
            assert list(reader.read(700, 703)) == whole[700:703]
            assert list(reader.read(0, 0)) == []
            assert list(reader.pick([])) == []
            seqs = [1_499, 3, 3, 700, *range(0, 1_500, 2)]
            assert list(reader.pick(seqs)) == [whole[seq] for seq in seqs]

    def test_an_empty_session_has_no_records(self, backend: Backend) -> None:
        self.begun(backend, "s")
        with closing(backend.reader("s")) as reader:
            assert reader.end() == End(0, START)
            assert reader.torn is None

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

    def test_ids_are_unique_in_the_trash_too(self, backend: Backend) -> None:
        self.begun(backend, "s")
        with pytest.raises(SessionExists):
            backend.create(new_header(id="s"))
        backend.trash("s")
        with pytest.raises(SessionExists):
            backend.create(new_header(id="s"))
        backend.purge("s")
        backend.create(new_header(id="s")).release()

    def test_awkward_ids_do_not_meet(self, backend: Backend) -> None:
        for id in AWKWARD_IDS:
            self.begun(backend, id, f"this is {id}")
        for id in AWKWARD_IDS:
            assert [record.data for record in self.records(backend, id)] == batch_of(
                id, End(0, START), f"this is {id}"
            ).data
        assert {summary.id for summary in backend.list(100, None, False)} == set(AWKWARD_IDS)

    def test_checkpoints_come_back_the_newest_first(self, backend: Backend) -> None:
        lease = backend.create(new_header(id="s"))
        lease.append(batch_of("s", lease.end, "one", "two", "three"))
        lease.save_checkpoint(0, b"after one")
        lease.save_checkpoint(2, b"after three \x00")
        lease.release()
        with closing(backend.reader("s")) as reader:
            kept = list(reader.checkpoints())
        assert kept[0] == (2, b"after three \x00")
        assert kept == sorted(kept, reverse=True)

    def test_a_list_is_read_page_by_page(self, backend: Backend) -> None:
        for n in range(7):
            self.begun(backend, f"s{n}", f"text {n}")
        backend.acquire("s2").release()
        pages: list[list[str]] = []
        after: str | None = None
        while page := backend.list(3, after, False):
            pages.append([summary.id for summary in page])
            after = page[-1].cursor
        assert pages == [["s2", "s6", "s5"], ["s4", "s3", "s1"], ["s0"]]

    def test_a_list_tells_what_is_stored(self, backend: Backend) -> None:
        header = new_header(id="s", cwd="/work", origin="test", parent_session="p", delegation_depth=1)
        lease = backend.create(header)
        batch = batch_of("s", lease.end, "first words")
        lease.append(batch._replace(title="A title", preview="first words"))
        lease.append(batch_of("s", lease.end, "more")._replace(preview="more"))
        assert backend.list(9, None, False)[0].holder
        lease.release()
        (summary,) = backend.list(9, None, False)
        assert (summary.id, summary.events, summary.title, summary.preview) == ("s", 2, "A title", "first words")
        assert (summary.cwd, summary.origin, summary.parent_session) == ("/work", "test", "p")
        assert (summary.delegation_depth, summary.created_at) == (1, header.created_at)
        assert (summary.holder, summary.damage, summary.trashed_at) == (None, None, None)

    def test_one_session_is_told_as_the_list_tells_it(self, backend: Backend) -> None:
        for id in ("s1", "s2"):
            self.begun(backend, id, "text")
        lease = backend.acquire("s1")
        (held, _) = backend.list(9, None, False)
        assert backend.summary("s1") == held
        lease.release()
        assert [backend.summary(summary.id) for summary in backend.list(9, None, False)] == list(
            backend.list(9, None, False)
        )
        backend.trash("s1")
        assert [backend.summary("s1")] == list(backend.list(9, None, True))
        with pytest.raises(SessionNotFound):
            backend.summary("nobody")

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

    def test_the_trash_gives_back_what_was_put_there(self, backend: Backend) -> None:
        self.begun(backend, "s", "a")
        backend.trash("s")
        assert list(backend.list(9, None, False)) == []
        (summary,) = backend.list(9, None, True)
        assert summary.id == "s"
        assert summary.trashed_at
        for attempt in (backend.acquire, backend.demand, backend.trash):
            with pytest.raises(SessionNotFound) as refused:
                attempt("s")
            assert refused.value.trashed
        assert len(self.records(backend, "s")) == 1
        backend.restore("s")
        assert [summary.id for summary in backend.list(9, None, False)] == ["s"]
        assert list(backend.list(9, None, True)) == []
        backend.acquire("s").release()

    def test_what_is_not_there_is_not_found(self, backend: Backend) -> None:
        attempts = (backend.acquire, backend.demand, backend.reader, backend.trash, backend.restore, backend.purge)
        for attempt in attempts:
            with pytest.raises(SessionNotFound):
                attempt("nobody")
        self.begun(backend, "s")
        with pytest.raises(SessionNotFound):
            backend.restore("s")

    def test_a_held_session_is_not_deleted(self, backend: Backend) -> None:
        lease = backend.create(new_header(id="s"))
        for attempt in (backend.trash, backend.purge):
            with pytest.raises(SessionBusy):
                attempt("s")
        lease.release()
        backend.trash("s")
        backend.purge("s")

    def test_search_finds_titles_and_messages(self, backend: Backend) -> None:
        self.begun(backend, "s1", "the quick brown fox", "数据库里的会话")
        self.begun(backend, "s2", "a lazy dog; quick, too")
        self.begun(backend, "s3", "nothing of the kind")
        assert {(hit.session, hit.seq) for hit in backend.search("quick", 9)} == {("s1", 0), ("s2", 0)}
        assert [(hit.session, hit.seq) for hit in backend.search("BROWN quick", 9)] == [("s1", 0)]
        assert [(hit.session, hit.seq) for hit in backend.search("会话", 9)] == [("s1", 1)]
        assert "brown" in backend.search("brown", 9)[0].snippet
        for nothing in ("elephant", "", 'quick"', "fox AND dog", "*"):
            assert not {hit.session for hit in backend.search(nothing, 9)} & {"s3"}
        backend.trash("s1")
        assert {hit.session for hit in backend.search("quick", 9)} == {"s2"}
        backend.purge("s1")
        assert {hit.session for hit in backend.search("quick", 9)} == {"s2"}

    def test_blobs_are_kept_by_hash(self, backend: Backend) -> None:
        lease = backend.create(new_header(id="s"))
        data = b"\x89PNG \x00" + bytes(range(256)) * 100
        backend.put_blob("ab" * 32, data)
        backend.put_blob("ab" * 32, data)
        backend.put_blob("cd" * 32, b"")
        lease.sync()
        lease.release()
        assert backend.blob("ab" * 32) == data
        assert [(blob.hash, blob.size) for blob in backend.blobs()] == [("ab" * 32, len(data)), ("cd" * 32, 0)]
        backend.drop_blob("ab" * 32)
        with pytest.raises(BlobMissing):
            backend.blob("ab" * 32)
        assert [blob.hash for blob in backend.blobs()] == ["cd" * 32]


class SessionContract(_Suite):
    """What sessions of a store guarantee."""

    async def test_what_was_flushed_is_read_back_with_the_same_bytes(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create({"cwd": "/work"}) as session:
            for text in AWKWARD_TEXTS:
                whole_turn(session, text)
            await session.flush()
            assert session.durable_seq == session.next_seq
        async with open_store(store_url) as store, await store.open(session.id) as found:
            assert stored(found) == stored(session)
            assert found.header == session.header
            assert list(found.messages()) == list(session.messages())
            assert found.violations == ()

    async def test_events_are_written_behind_without_a_flush(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as session:
            say(session, "soon")
            async with asyncio.timeout(60):
                async for event in store.follow(session.id):
                    assert event.to_json() == stored(session)[0]
                    break

    async def test_every_size_of_json_comes_back(self, store_url: str) -> None:
        values: list[Any] = [
            2**53 + 1,
            -(2**200),
            1e300,
            0.1,
            True,
            None,
            "",
            {},
            [],
            {"a": [{"b": [1, "x", None]}]},
            "\x00",
        ]
        async with open_store(store_url) as store:
            async with await store.create() as session:
                session.append_json("vendor/values", {"values": values}, ignorable=True)
            async with await store.open(session.id) as found:
                assert found.events[0].data == {"values": values}

    async def test_a_follower_is_given_each_event_once_and_in_order(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as session:
            say(session, "before")
            await session.flush()

            async def follow(start: int, count: int) -> list[bytes]:
                found: list[bytes] = []
                async for event in store.follow(session.id, start):
                    found.append(event.to_json())
                    if len(found) == count:
                        break
                return found

            follower = asyncio.create_task(follow(0, 21))
            for n in range(20):
                say(session, f"text {n}")
                if n % 7 == 0:
                    await session.flush()
                    await asyncio.sleep(0)
            async with asyncio.timeout(60):
                assert await follower == stored(session)
                assert await follow(15, 6) == stored(session)[15:]

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

    async def test_an_open_turn_is_shown_as_running_while_its_writer_lives(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as session:
            call_under_way(session)
            await session.flush()
            async with await store.open(session.id) as found:
                assert found.running
                assert stored(found) == stored(session)
                assert found.ledger.turns.is_open
            await session.abandon()
            async with await store.open(session.id) as found:
                assert not found.running
                assert found.stored == 5
                assert not found.ledger.turns.is_open

    async def test_what_a_crash_left_open_is_closed_once(self, store_url: str) -> None:
        async with open_store(store_url) as store:
            session = await store.create()
            call_under_way(session)
            await session.flush()
            before = stored(session)
            await session.abandon()
            async with await store.open(session.id) as seen:
                computed = stored(seen)
            async with await store.open(session.id, "write") as again:
                closed = stored(again)
            async with await store.open(session.id, "write") as once_more:
                assert stored(once_more) == closed
            assert closed == computed
            assert closed[: len(before)] == before
            assert [event.type for event in again.events][len(before) :] == ["tool/result", "step/end", "turn/end"]
            assert again.events[5].data.error.code == "TOOL_OUTCOME_UNKNOWN"

    async def test_a_probe_tells_what_became_of_a_call(self, store_url: str) -> None:
        asked: list[tuple[str, str | None]] = []

        async def probe(call: Any, effects: Any) -> Any:
            asked.append((call.name, effects))
            return "confirmed"

        async with open_store(store_url) as store:
            session = await store.create()
            call_under_way(session)
            await session.flush()
            await session.abandon()
            async with await store.open(session.id, "write", probe=probe) as again:
                assert again.events[5].data.error.code == "TOOL_OUTCOME_CONFIRMED"
            assert asked == [("bash", "mutating")]

    async def test_the_first_append_after_a_reload_is_preceded_by_an_end_seed(self, store_url: str) -> None:
        async with open_store(store_url) as store:
            async with await store.create() as session:
                whole_turn(session)
            for _ in range(2):
                async with await store.open(session.id, "write") as again:
                    assert again.next_seq == 3
            async with await store.open(session.id, "write") as again:
                with pytest.raises(AppendRefused):
                    again.append_json("turn/start", {"turn": 7})
                assert again.next_seq == 3
                whole_turn(again)
                whole_turn(again)
                assert [event.type for event in again.events][3:5] == ["session/end-seed", "turn/start"]
                assert again.ledger.turns.last == 3
            async with await store.open(session.id) as found:
                assert [event.type for event in found.events].count("session/end-seed") == 1

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

    async def test_events_of_unknown_types_open_for_looking_only(self, store_url: str) -> None:
        words = CORE.with_types(EventType("vendor/thing"))
        async with open_store(store_url) as store:
            async with await store.create(vocabulary=words) as session:
                session.append_json("vendor/thing", {"a": 1})
                whole_turn(session)
                session.append_json("vendor/other", {"b": 2}, ignorable=True)
            async with await store.open(session.id) as found:
                assert found.unknown_types == ("vendor/thing",)
                assert stored(found) == stored(session)
                assert [item.text for item in found.messages()] == ["hello"]
            with pytest.raises(FormatUnsupported, match="vendor/thing"):
                await store.open(session.id, "write")
            async with await store.open(session.id, "write", vocabulary=words) as again:
                assert again.next_seq == session.next_seq

    async def test_the_order_is_that_of_seqs_whatever_the_clock_says(self, store_url: str) -> None:
        times = iter([5_000, 5_000, 1_000, 1_000, 9_000] + [0] * 99)
        async with open_store(store_url) as store:
            async with await store.create(clock=lambda: next(times)) as session:
                whole_turn(session)
            async with await store.open(session.id, "write") as again:
                whole_turn(again)
            async with await store.open(session.id) as found:
                assert stored(found) == stored(again)
                assert [event.seq for event in found.events] == list(range(7))

    async def test_blobs_are_made_durable_by_a_flush(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as session:
            hash = session.blobs.put(b"an image")
            assert session.blobs.get(hash) == b"an image"
            await session.flush()
        async with open_store(store_url) as store:
            assert store.blobs.get(hash) == b"an image"
            with pytest.raises(LookupError):
                store.blobs.get("00" * 32)

    async def test_a_closed_session_takes_no_more(self, store_url: str) -> None:
        async with open_store(store_url) as store:
            session = await store.create()
            await session.close()
            await session.close()
            with pytest.raises(StoreError):
                say(session, "late")
            async with await store.open(session.id) as found:
                with pytest.raises(StoreError):
                    found.append_json("turn/start", {"turn": 1})

    async def test_a_long_session_opens_from_a_checkpoint_as_if_from_the_start(self, store_url: str) -> None:
        async with open_store(store_url) as store:
            async with await store.create() as session:
                for n in range(700):
                    whole_turn(session, f"turn {n}")
                session.project("inbox")
            lazily = await self._seen(store, session.id)
            assert lazily == (stored(session), session.surface.nodes, session.ledger.to_bytes())
            async with await store.open(session.id, "write") as again:
                whole_turn(again, "later")
                assert again.ledger.turns.last == 701
                async with await store.fork(again.id, at=1_000, open_turn="close") as child:
                    assert stored(child)[:1_001] == stored(session)[:1_001]

    async def _seen(self, store: Store, id: str) -> tuple[list[bytes], tuple[int, ...], bytes]:
        async with await store.open(id) as found:
            nodes, ledger = found.surface.nodes, found.ledger.to_bytes()
            return stored(found), nodes, ledger

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

    async def test_verify_finds_nothing_in_a_sound_session(self, store_url: str) -> None:
        async with open_store(store_url) as store:
            async with await store.create() as session:
                for n in range(50):
                    whole_turn(session, f"turn {n}")
            found = await store.verify(session.id)
            assert found.sound
            assert found.violations == ()
            assert found.head is not None
            assert found.head.startswith("150:")

    async def test_blobs_that_nothing_names_are_told_from_those_that_something_does(self, store_url: str) -> None:
        async with open_store(store_url) as store:
            async with await store.create() as session:
                whole_turn(session, f"see {session.blobs.put(b'named')}")
                forgotten = session.blobs.put(b"forgotten")
            assert list(await store.unnamed_blobs()) == []
            assert [blob.hash for blob in await store.unnamed_blobs(young_ms=-1000)] == [forgotten]
            await store.delete(session.id)
            await store.drop_blobs(await store.unnamed_blobs(young_ms=-1000))
            await store.restore(session.id)
            assert store.blobs.get(session.messages()[0].text.removeprefix("see ")) == b"named"
            with pytest.raises(BlobMissing):
                store.blobs.get(forgotten)


class StoreContract(BackendContract, SessionContract):
    """All of it."""
