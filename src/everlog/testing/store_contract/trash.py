"""The trash."""

from __future__ import annotations

import pytest

from everlog.session.header import new_header
from everlog.store.backend import Backend
from everlog.store.errors import SessionBusy, SessionExists, SessionNotFound
from everlog.testing.store_contract.suite import Suite


class TrashContract(Suite):
    """What is deleted comes back, until it is purged."""

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

    def test_ids_are_unique_in_the_trash_too(self, backend: Backend) -> None:
        self.begun(backend, "s")
        with pytest.raises(SessionExists):
            backend.create(new_header(id="s"))
        backend.trash("s")
        with pytest.raises(SessionExists):
            backend.create(new_header(id="s"))
        backend.purge("s")
        backend.create(new_header(id="s")).release()

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
