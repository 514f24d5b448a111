"""Sessions that are opened again, after a crash too."""

from __future__ import annotations

from typing import Any

import pytest

from everlog.session.errors import AppendRefused
from everlog.store import open_store
from everlog.store.store import Store
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import call_under_way, stored, whole_turn


class ReloadContract(Suite):
    """An opened session is what it was, with an end for what was left open."""

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
