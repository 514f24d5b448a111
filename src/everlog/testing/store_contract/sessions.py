"""Sessions, as programs see them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everlog.session.errors import FormatUnsupported
from everlog.session.vocabulary import CORE, EventType
from everlog.store import open_store
from everlog.store.errors import StoreError
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import AWKWARD_TEXTS, say, stored, whole_turn


class SessionContract(Suite):
    """What is appended is written behind, and read back."""

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
