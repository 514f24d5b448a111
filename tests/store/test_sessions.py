"""Sessions of a store: created, written behind, flushed, opened again, forked, deleted."""

from __future__ import annotations

import pytest

from everlog import SessionBusy, SessionNotFound, open_store

PROMPT = {
    "id": "m1",
    "role": "user",
    "content": [{"type": "text", "text": "make the test pass"}],
    "source": {"kind": "user"},
}


async def test_a_flushed_session_is_read_back_with_the_same_bytes(url: str) -> None:
    async with open_store(url) as store, await store.create({"cwd": "/work"}) as session:
        session.append_json("turn/start", {"turn": 1})
        session.append_json("user/message", PROMPT, "append")
        await session.flush()
        written = [event.to_json() for event in session.events]
    async with open_store(url) as store:
        found = await store.open(session.id)
        assert [event.to_json() for event in found.events][: found.stored] == written


async def test_a_second_writer_is_told_who_holds_the_session(url: str) -> None:
    async with open_store(url) as store, await store.create() as session:
        with pytest.raises(SessionBusy) as refused:
            await store.open(session.id, "write")
        assert refused.value.holder


async def test_the_first_append_after_a_reload_is_preceded_by_an_end_seed(url: str) -> None:
    async with open_store(url) as store:
        async with await store.create() as session:
            session.append_json("user/message", PROMPT, "append")
        for _ in range(2):
            async with await store.open(session.id, "write") as again:
                assert [event.type for event in again.events] == ["user/message"]
        async with await store.open(session.id, "write") as again:
            again.append_json("turn/start", {"turn": 1})
            assert [event.type for event in again.events][1:] == ["session/end-seed", "turn/start"]


async def test_a_fork_outlives_its_parent(url: str) -> None:
    async with open_store(url) as store:
        async with await store.create() as parent:
            parent.append_json("user/message", PROMPT, "append")
            child = await store.fork(parent.id)
            await child.close()
        await store.purge(parent.id)
        with pytest.raises(SessionNotFound):
            await store.open(parent.id)
        found = await store.open(child.id)
        assert [event.type for event in found.events] == ["user/message", "session/end-seed"]
