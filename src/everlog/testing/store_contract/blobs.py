"""Blobs: images and other large things, by their hash."""

from __future__ import annotations

import pytest

from everlog.session.header import new_header
from everlog.store import open_store
from everlog.store.backend import Backend
from everlog.store.errors import BlobMissing
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import whole_turn


class BlobContract(Suite):
    """Blobs are as durable as the events that name them."""

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

    async def test_blobs_are_made_durable_by_a_flush(self, store_url: str) -> None:
        async with open_store(store_url) as store, await store.create() as session:
            hash = session.blobs.put(b"an image")
            assert session.blobs.get(hash) == b"an image"
            await session.flush()
        async with open_store(store_url) as store:
            assert store.blobs.get(hash) == b"an image"
            with pytest.raises(LookupError):
                store.blobs.get("00" * 32)

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
