"""Scopes: registrations end with them, in reverse order, and are seen from their place and below."""

import asyncio
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlog.kernel import Registry, Scope, ScopeClosed, ServiceConflict, ServiceMissing


class Paper:
    pass


class Pen:
    pass


@pytest.fixture
def root() -> Scope:
    return Scope("root")


async def test_closing_undoes_everything_last_first(root: Scope) -> None:
    undone: list[str] = []

    async def slowly() -> None:
        await asyncio.sleep(0)
        undone.append("second")

    root.at_end(lambda: undone.append("first"))
    root.at_end(slowly)
    root.at_end(lambda: undone.append("third"))
    await root.close()
    assert undone == ["third", "second", "first"]


async def test_closing_twice_undoes_once(root: Scope) -> None:
    undone: list[str] = []
    root.at_end(lambda: undone.append("once"))
    await root.close()
    await root.close()
    assert undone == ["once"]


async def test_a_second_close_waits_for_the_first(root: Scope) -> None:
    gate = asyncio.Event()
    root.at_end(gate.wait)
    first = asyncio.create_task(root.close())
    await asyncio.sleep(0)
    second = asyncio.create_task(root.close())
    await asyncio.sleep(0)
    assert root.closed
    assert not second.done()
    gate.set()
    await asyncio.gather(first, second)


async def test_an_undo_may_close_its_own_scope(root: Scope) -> None:
    root.at_end(root.close)
    async with asyncio.timeout(60):
        await root.close()


async def test_an_undo_that_raises_is_logged_and_hinders_no_other(
    root: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    undone: list[str] = []

    def broken() -> None:
        raise OSError("stuck")

    root.at_end(lambda: undone.append("first"))
    root.at_end(broken)
    with caplog.at_level(logging.ERROR):
        await root.close()
    assert undone == ["first"]
    assert "stuck" in caplog.text


async def test_a_cancelled_close_still_undoes_the_rest(root: Scope) -> None:
    undone: list[str] = []
    root.at_end(lambda: undone.append("first"))
    root.at_end(asyncio.Event().wait)
    closing = asyncio.create_task(root.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert undone == ["first"]


async def test_nothing_can_be_registered_after_the_end(root: Scope) -> None:
    await root.close()
    for register in (
        lambda: root.at_end(print),
        lambda: root.provide(Pen, Pen()),
        lambda: root.child("late"),
        lambda: Registry[int]("numbers").add(root, 1),
    ):
        with pytest.raises(ScopeClosed, match="root has ended"):
            register()


async def test_what_was_taken_back_early_is_not_undone_again(root: Scope) -> None:
    undone: list[str] = []
    root.at_end(lambda: undone.append("never")).undo()
    await root.close()
    assert undone == []


async def test_a_registration_can_be_taken_back_by_with_and_twice(root: Scope) -> None:
    numbers = Registry[int]("numbers")
    with numbers.add(root, 1) as registration:
        assert numbers.seen_from(root) == [1]
    assert numbers.seen_from(root) == []
    registration.undo()
    await root.close()
    registration.undo()


async def test_a_child_closes_with_its_parent_at_its_turn(root: Scope) -> None:
    undone: list[str] = []
    root.at_end(lambda: undone.append("before the child"))
    root.child("agent").at_end(lambda: undone.append("the child's"))
    root.at_end(lambda: undone.append("after the child"))
    await root.close()
    assert undone == ["after the child", "the child's", "before the child"]


async def test_a_closed_child_leaves_nothing_behind_in_its_parent(root: Scope) -> None:
    for number in range(3):
        async with root.child(f"agent {number}") as agent:
            agent.provide(Pen, Pen())
    assert root._undos == {}
    assert root._place.shelves == {}


async def test_a_service_is_seen_from_its_place_and_below(root: Scope) -> None:
    pen = Pen()
    root.provide(Pen, pen)
    agent = root.child("agent")
    assert agent[Pen] is pen
    assert Pen in agent
    assert Paper not in agent


async def test_a_service_of_an_inner_place_hides_the_outer_one_there_alone(root: Scope) -> None:
    outer, inner = Pen(), Pen()
    root.provide(Pen, outer)
    first, second = root.child("first"), root.child("second")
    first.provide(Pen, inner)
    assert first[Pen] is inner
    assert second[Pen] is outer
    await first.close()
    assert first[Pen] is outer


async def test_a_second_service_at_one_place_is_refused(root: Scope) -> None:
    root.provide(Pen, Pen())
    with pytest.raises(ServiceConflict, match="Pen is provided already in root") as refused:
        root.provide(Pen, Pen())
    assert refused.value.service is Pen


async def test_a_missing_service_says_where_it_was_missed(root: Scope) -> None:
    with pytest.raises(ServiceMissing, match="no Pen service: nobody provides it in root"):
        _ = root[Pen]


async def test_items_are_seen_by_order_then_outer_first_then_as_they_came(root: Scope) -> None:
    words = Registry[str]("words")
    agent = root.child("agent")
    words.add(agent, "inner")
    words.add(root, "outer, later")
    words.add(root, "outer, last")
    words.add(agent, "inner, but first", order=-1)
    assert words.seen_from(agent) == ["inner, but first", "outer, later", "outer, last", "inner"]
    assert words.seen_from(root) == ["outer, later", "outer, last"]


async def test_within_registers_at_the_others_place(root: Scope) -> None:
    words = Registry[str]("words")
    agent, other = root.child("agent"), root.child("other")
    words.add(root.within(agent), "for the agent")
    assert words.seen_from(agent) == ["for the agent"]
    assert words.seen_from(other) == []


@pytest.mark.parametrize("first_to_end", ["plugin", "agent"])
async def test_within_ends_with_whichever_ends_first(root: Scope, first_to_end: str) -> None:
    words = Registry[str]("words")
    undone: list[str] = []
    scopes = {"plugin": root.child("plugin"), "agent": root.child("agent")}
    joined = scopes["plugin"].within(scopes["agent"])
    words.add(joined, "both")
    joined.at_end(lambda: undone.append("joined"))
    await scopes.pop(first_to_end).close()
    assert words.seen_from(scopes.get("agent", root)) == []
    assert joined.closed
    await scopes.popitem()[1].close()
    assert undone == ["joined"]


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_whatever_was_added_is_gone_after_the_end(steps: list[tuple[bool, bool]]) -> None:
    async def scenario() -> None:
        root, numbers = Scope("root"), Registry[int]("numbers")
        agent = root.child("agent")
        kept: list[int] = []
        for number, (at_root, take_back) in enumerate(steps):
            registration = numbers.add(root if at_root else agent, number)
            if take_back:
                registration.undo()
            else:
                kept.append(number)
        assert sorted(numbers.seen_from(agent)) == kept
        await agent.close()
        assert set(numbers.seen_from(agent)) == {number for number in kept if steps[number][0]}
        await root.close()
        assert numbers.seen_from(agent) == []

    asyncio.run(scenario())
