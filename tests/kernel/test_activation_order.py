"""Whatever requires what, whatever comes, goes or breaks: order holds, and the same plugins run in the end."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from everlog.kernel import Context, Kernel, Plugin, Status, plugin

SIZE = 6
SERVICES = [type(f"Service{number}", (), {}) for number in range(SIZE)]


@dataclass
class World:
    """Plugin `n` provides service `n` and requires those of `requires[n]`; some cannot be set up."""

    requires: list[set[int]]
    broken: set[int]
    up: set[int] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)
    bombs: dict[int, asyncio.Event] = field(default_factory=dict)
    down: dict[int, asyncio.Event] = field(default_factory=dict)

    def plugin(self, number: int) -> Plugin:
        needs = sorted(self.requires[number])

        @plugin(name=f"p{number}", requires=[SERVICES[need] for need in needs], provides=[SERVICES[number]])
        async def body(ctx: Context) -> AsyncIterator[None]:
            if not self.up.issuperset(needs):
                self.violations.append(f"{number} was set up before its requirements")
            if number in self.broken:
                raise ValueError("cannot be set up")
            await asyncio.sleep(0)
            ctx.provide(SERVICES[number], SERVICES[number]())
            self.bombs[number], self.down[number] = asyncio.Event(), asyncio.Event()
            try:
                async with asyncio.TaskGroup() as group:
                    ticking = group.create_task(self.tick(number))
                    self.up.add(number)
                    yield
                    await asyncio.sleep(0)
                    if any(number in self.requires[user] for user in self.up):
                        self.violations.append(f"{number} was torn down before one that requires it")
                    ticking.cancel()
            finally:
                self.up.discard(number)
                self.down[number].set()

        return body

    async def tick(self, number: int) -> None:
        await self.bombs[number].wait()
        raise ValueError("broke down")

    def expected(self, loaded: set[int]) -> set[int]:
        """The plugins that can run: what can be reached from those that require nothing."""
        running: set[int] = set()
        while True:
            ready = {n for n in loaded - self.broken if self.requires[n] <= running}
            if ready == running:
                return running
            running = ready


def requirements() -> st.SearchStrategy[list[set[int]]]:
    others = [st.sets(st.sampled_from([o for o in range(SIZE) if o != n]), max_size=2) for n in range(SIZE)]
    return st.tuples(*others).map(list)


@settings(max_examples=150, deadline=None)
@given(
    requires=requirements(),
    broken=st.sets(st.integers(0, SIZE - 1), max_size=1),
    steps=st.lists(st.tuples(st.sampled_from(["toggle", "break"]), st.integers(0, SIZE - 1)), max_size=10),
    at_first=st.permutations(range(SIZE)),
)
def test_plugins_run_when_they_can_and_in_order(
    requires: list[set[int]], broken: set[int], steps: list[tuple[str, int]], at_first: list[int]
) -> None:
    async def scenario() -> None:
        world = World(requires, broken)
        loaded = set(at_first)
        async with Kernel([world.plugin(number) for number in at_first]) as kernel:
            assert world.up == world.expected(loaded)
            for step, number in steps:
                if step == "break" and number in world.up:
                    world.bombs[number].set()
                    await world.down[number].wait()
                    await kernel.settled()
                    assert number not in world.up
                    await kernel.unload(f"p{number}")
                    loaded.discard(number)
                elif number in loaded:
                    await kernel.unload(f"p{number}")
                    loaded.discard(number)
                else:
                    await kernel.load(world.plugin(number))
                    loaded.add(number)
                running = {s.name for s in kernel.states() if s.status is Status.ACTIVE}
                assert world.up == world.expected(loaded)
                assert running == {f"p{n}" for n in world.up}
                assert {n for n in range(SIZE) if SERVICES[n] in kernel} == world.up
        assert world.up == set()
        assert world.violations == []
        assert kernel.root._place.shelves == {}

    logging.disable()
    try:
        asyncio.run(scenario())
    finally:
        logging.disable(logging.NOTSET)


@settings(max_examples=50, deadline=None)
@given(requires=requirements(), order=st.permutations(range(SIZE)))
def test_the_same_plugins_run_whatever_order_they_are_given_in(requires: list[set[int]], order: list[int]) -> None:
    async def running(numbers: list[int]) -> set[int]:
        world = World(requires, set())
        async with Kernel([world.plugin(number) for number in numbers]):
            return set(world.up)

    assert asyncio.run(running(order)) == asyncio.run(running(list(range(SIZE))))
