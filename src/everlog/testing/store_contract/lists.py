"""Lists and searches of sessions."""

from __future__ import annotations

import pytest

from everlog.session.header import new_header
from everlog.store.backend import Backend
from everlog.store.errors import SessionNotFound
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import batch_of


class ListContract(Suite):
    """What is told of sessions without reading their logs."""

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
