"""The life of plugins: they start when they can, stop in order, fail alone, and leave nothing behind."""

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator, Callable

import pytest

from everlog.kernel import (
    Config,
    Context,
    Emit,
    Kernel,
    Plugin,
    PluginInvalid,
    PluginState,
    ServiceMissing,
    Status,
    plugin,
)

happened = Emit[[str]]("test.happened")


class Water:
    pass


class Coffee:
    pass


class Breakfast:
    pass


class Trace:
    """Plugins that write down their set-up and tear-down."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def plugin(
        self,
        name: str,
        requires: tuple[type[object], ...] = (),
        provides: tuple[type[object], ...] = (),
        set_up: Callable[[Context], None] = lambda ctx: None,
    ) -> Plugin:
        @plugin(name=name, requires=requires, provides=provides)
        async def traced(ctx: Context) -> AsyncIterator[None]:
            set_up(ctx)
            for service in provides:
                ctx.provide(service, service())
            self.lines.append(f"+{name}")
            yield
            self.lines.append(f"-{name}")

        return traced


@pytest.fixture
def trace() -> Trace:
    return Trace()


@pytest.fixture
def well(trace: Trace) -> Plugin:
    return trace.plugin("well", provides=(Water,))


@pytest.fixture
def cook(trace: Trace) -> Plugin:
    return trace.plugin("cook", requires=(Water,), provides=(Coffee,))


@pytest.fixture
def guest(trace: Trace) -> Plugin:
    return trace.plugin("guest", requires=(Coffee,))


def status(kernel: Kernel) -> dict[str, str]:
    return {state.name: state.status for state in kernel.states()}


def reason(kernel: Kernel, name: str) -> str:
    return next(state.reason for state in kernel.states() if state.name == name)


def fail(error: Exception) -> Callable[[Context], None]:
    def set_up(ctx: Context) -> None:
        raise error

    return set_up


class TestOrder:
    async def test_requirements_come_first_and_go_last(
        self, trace: Trace, well: Plugin, cook: Plugin, guest: Plugin
    ) -> None:
        async with Kernel([guest, cook, well]) as kernel:
            assert set(status(kernel).values()) == {"active"}
        assert trace.lines == ["+well", "+cook", "+guest", "-guest", "-cook", "-well"]

    async def test_those_without_requirements_start_in_the_order_given(self, trace: Trace) -> None:
        async with Kernel([trace.plugin(name) for name in "cab"]):
            pass
        assert trace.lines == ["+c", "+a", "+b", "-b", "-a", "-c"]

    async def test_a_tear_down_is_awaited_before_the_next_begins(self, trace: Trace, well: Plugin) -> None:
        @plugin(requires=(Water,))
        async def slow(ctx: Context) -> AsyncIterator[None]:
            yield
            await asyncio.sleep(0.01)
            trace.lines.append("-slow")

        async with Kernel([well, slow]):
            pass
        assert trace.lines == ["+well", "-slow", "-well"]

    async def test_a_plugin_stops_when_its_requirement_goes_and_starts_when_it_returns(
        self, trace: Trace, well: Plugin, cook: Plugin, guest: Plugin
    ) -> None:
        async with Kernel([well, cook, guest]) as kernel:
            trace.lines.clear()
            await kernel.unload("well")
            assert trace.lines == ["-guest", "-cook", "-well"]
            assert status(kernel) == {"cook": "pending", "guest": "pending"}
            await kernel.load(well)
            assert trace.lines[3:] == ["+well", "+cook", "+guest"]

    async def test_others_are_left_alone_when_one_goes(self, trace: Trace, well: Plugin, cook: Plugin) -> None:
        async with Kernel([well, cook, trace.plugin("clock")]) as kernel:
            trace.lines.clear()
            await kernel.unload("cook")
            assert trace.lines == ["-cook"]

    async def test_a_restarted_plugin_gets_its_old_place_among_listeners(self, well: Plugin) -> None:
        heard: list[str] = []

        @plugin(requires=(Water,))
        async def first(ctx: Context) -> AsyncIterator[None]:
            ctx.on(happened, lambda text: heard.append("first"))
            yield

        @plugin()
        async def second(ctx: Context) -> AsyncIterator[None]:
            ctx.on(happened, lambda text: heard.append("second"))
            yield

        async with Kernel([first, second]) as kernel:
            await kernel.load(well)
            happened.emit(kernel.root, "x")
        assert heard == ["first", "second"]

    async def test_loading_a_name_twice_is_refused_and_adds_nothing(self, well: Plugin, cook: Plugin) -> None:
        async with Kernel([well]) as kernel:
            with pytest.raises(PluginInvalid, match=r"plugin well: its name is taken by .*traced"):
                await kernel.load(cook, well)
            assert list(status(kernel)) == ["well"]

    async def test_unloading_what_is_not_loaded_is_refused(self) -> None:
        async with Kernel() as kernel:
            with pytest.raises(PluginInvalid, match="plugin ghost: is not loaded"):
                await kernel.unload("ghost")


class TestServices:
    async def test_they_are_had_by_type(self, well: Plugin) -> None:
        async with Kernel([well]) as kernel:
            assert isinstance(kernel[Water], Water)
            assert Water in kernel
            assert Coffee not in kernel

    async def test_a_plugin_gets_only_what_it_requires(self, well: Plugin) -> None:
        @plugin()
        async def thief(ctx: Context) -> AsyncIterator[None]:
            assert Water not in ctx
            _ = ctx[Water]
            yield

        async with Kernel([well, thief]) as kernel:
            assert reason(kernel, "thief") == "no Water service: plugin thief does not name it in `requires`"

    async def test_a_service_is_seen_only_after_the_set_up(self, trace: Trace, guest: Plugin) -> None:
        provided, go_on = asyncio.Event(), asyncio.Event()

        @plugin(provides=(Coffee,))
        async def slow(ctx: Context) -> AsyncIterator[None]:
            ctx.provide(Coffee, Coffee())
            assert Coffee in ctx
            provided.set()
            await go_on.wait()
            yield

        async with Kernel([guest]) as kernel:
            loading = asyncio.create_task(kernel.load(slow))
            await provided.wait()
            assert Coffee not in kernel
            assert status(kernel)["slow"] == "starting"
            go_on.set()
            await loading
            assert trace.lines == ["+guest"]

    async def test_a_plugin_keeps_its_requirement_through_its_tear_down(self, well: Plugin) -> None:
        kept: list[Water] = []

        @plugin(requires=(Water,))
        async def drinker(ctx: Context) -> AsyncIterator[None]:
            kept.append(ctx[Water])
            yield
            kept.append(ctx[Water])

        async with Kernel([well, drinker]) as kernel:
            await kernel.unload("well")
        assert kept[0] is kept[1]

    @pytest.mark.parametrize(
        ("provided", "problem"),
        [
            ((), "promises Water in `provides` and did not provide it"),
            ((Water, Water), "provides Water twice"),
            ((Water, Coffee), "provides Coffee without naming it in `provides`"),
        ],
    )
    async def test_a_plugin_keeps_its_word(self, provided: tuple[type[object], ...], problem: str) -> None:
        @plugin(provides=(Water,))
        async def careless(ctx: Context) -> AsyncIterator[None]:
            for service in provided:
                ctx.provide(service, service())
            yield

        async with Kernel([careless]) as kernel:
            assert reason(kernel, "careless") == f"plugin careless: {problem}"
            assert Water not in kernel

    async def test_of_two_providers_the_first_provides_and_the_second_says_so(self, trace: Trace, well: Plugin) -> None:
        async with Kernel([well, trace.plugin("tap", provides=(Water,))]) as kernel:
            assert status(kernel) == {"well": "active", "tap": "failed"}
            assert reason(kernel, "tap") == (
                'provides Water, as well does already: choose one with [plugins] disable = ["well"] or ["tap"]'
            )

    async def test_the_second_provider_takes_over_when_the_first_is_unloaded(
        self, trace: Trace, well: Plugin, cook: Plugin
    ) -> None:
        async with Kernel([well, cook, trace.plugin("tap", provides=(Water,))]) as kernel:
            await kernel.unload("well")
            assert status(kernel) == {"cook": "active", "tap": "active"}
        assert trace.lines == ["+well", "+cook", "-cook", "-well", "+tap", "+cook", "-cook", "-tap"]


class TestReasons:
    async def test_a_pending_plugin_says_where_the_chain_breaks(self, cook: Plugin, guest: Plugin) -> None:
        async with Kernel([guest, cook]) as kernel:
            assert reason(kernel, "cook") == "waits for Water (no plugin provides it)"
            chain = "cook provides it and waits for Water (no plugin provides it)"
            assert reason(kernel, "guest") == f"waits for Coffee ({chain})"
            with pytest.raises(ServiceMissing) as missing:
                _ = kernel[Coffee]
            assert str(missing.value) == f"no Coffee service: {chain}"

    async def test_a_failed_provider_is_named_with_its_failure(self, trace: Trace, cook: Plugin) -> None:
        dry = trace.plugin("well", provides=(Water,), set_up=fail(OSError("dry")))
        async with Kernel([dry, cook]) as kernel:
            assert status(kernel) == {"well": "failed", "cook": "pending"}
            assert reason(kernel, "well") == "OSError: dry"
            assert reason(kernel, "cook") == "waits for Water (well provides it and failed: OSError: dry)"

    async def test_a_circle_is_shown(self, trace: Trace) -> None:
        a = trace.plugin("a", requires=(Water,), provides=(Coffee,))
        b = trace.plugin("b", requires=(Coffee,), provides=(Breakfast,))
        c = trace.plugin("c", requires=(Breakfast,), provides=(Water,))
        async with Kernel([a, b, c, trace.plugin("d", requires=(Coffee,))]) as kernel:
            assert set(status(kernel).values()) == {"pending"}
            for name in "abcd":
                assert "a circle of requirements: " in reason(kernel, name)
            assert reason(kernel, "b").endswith("a circle of requirements: b -> a -> c -> b)))")
        assert trace.lines == []

    async def test_a_disabled_provider_is_named(self, cook: Plugin) -> None:
        absent = PluginState("well", Status.DISABLED, "named in [plugins] disable", provides=("Water",))
        async with Kernel([cook], absent=[absent]) as kernel:
            assert reason(kernel, "cook") == (
                "waits for Water (well provides it and is disabled: named in [plugins] disable)"
            )
            assert kernel.states()[-1] is absent

    async def test_a_state_tells_what_a_plugin_is(self, well: Plugin, cook: Plugin) -> None:
        @plugin(requires=(Water, Coffee), provides=(Breakfast,))
        async def big_table(ctx: Context) -> AsyncIterator[None]:
            """Serves breakfast.

            With much more to say.
            """
            ctx.provide(Breakfast, Breakfast())
            yield

        async with Kernel([well, cook, big_table]) as kernel:
            assert kernel.states()[-1] == PluginState(
                "big-table",
                Status.ACTIVE,
                "",
                ("Water", "Coffee"),
                ("Breakfast",),
                "Serves breakfast.",
                big_table.source,
            )


class TestFailing:
    async def test_a_failed_set_up_undoes_what_it_did(self, caplog: pytest.LogCaptureFixture) -> None:
        undone: list[str] = []

        @plugin(provides=(Water,))
        async def half(ctx: Context) -> AsyncIterator[None]:
            ctx.at_end(lambda: undone.append("first"))
            ctx.at_end(lambda: undone.append("second"))
            ctx.provide(Water, Water())
            ctx.on(happened, undone.append)
            raise OSError("half way")
            yield

        with caplog.at_level(logging.ERROR):
            async with Kernel([half]) as kernel:
                assert undone == ["second", "first"]
                assert Water not in kernel
                happened.emit(kernel.root, "x")
        assert undone == ["second", "first"]
        assert "plugin half failed: OSError: half way" in caplog.text

    async def test_it_gets_another_try_when_its_requirement_returns(self, trace: Trace, well: Plugin) -> None:
        tries: list[str] = []

        @plugin(requires=(Water,))
        async def shy(ctx: Context) -> AsyncIterator[None]:
            tries.append("try")
            if len(tries) == 1:
                raise OSError("not yet")
            yield

        async with Kernel([well, shy]) as kernel:
            assert status(kernel)["shy"] == "failed"
            await kernel.unload("well")
            assert reason(kernel, "shy") == "waits for Water (no plugin provides it)"
            await kernel.load(well)
            assert status(kernel)["shy"] == "active"

    async def test_a_background_task_that_breaks_fails_its_plugin_and_stops_its_dependents(self, trace: Trace) -> None:
        spill, left = asyncio.Event(), asyncio.Event()

        async def boil() -> None:
            await spill.wait()
            raise OSError("boiled over")

        @plugin(requires=(Coffee,))
        async def guest(ctx: Context) -> AsyncIterator[None]:
            yield
            left.set()

        @plugin(provides=(Coffee,))
        async def stove(ctx: Context) -> AsyncIterator[None]:
            async with asyncio.TaskGroup() as group:
                boiling = group.create_task(boil())
                ctx.provide(Coffee, Coffee())
                yield
                boiling.cancel()

        async with Kernel([stove, guest]) as kernel:
            assert status(kernel) == {"stove": "active", "guest": "active"}
            spill.set()
            await left.wait()
            await kernel.settled()
            assert status(kernel) == {"stove": "failed", "guest": "pending"}
            assert reason(kernel, "stove") == "OSError: boiled over"
            assert Coffee not in kernel

    async def test_nothing_starts_on_a_plugin_that_is_breaking_down(self, trace: Trace, guest: Plugin) -> None:
        spill, breaking, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def boil() -> None:
            await spill.wait()
            raise OSError("boiled over")

        async def mop_up() -> None:
            breaking.set()
            await go_on.wait()

        @plugin(provides=(Coffee,))
        async def stove(ctx: Context) -> AsyncIterator[None]:
            async with asyncio.TaskGroup() as group:
                group.create_task(boil())
                ctx.at_end(mop_up)
                ctx.provide(Coffee, Coffee())
                yield

        async with Kernel([stove]) as kernel:
            spill.set()
            await breaking.wait()
            loading = asyncio.create_task(kernel.load(guest))
            await asyncio.sleep(0)
            assert status(kernel) == {"stove": "stopping", "guest": "pending"}
            go_on.set()
            await loading
            assert status(kernel) == {"stove": "failed", "guest": "pending"}
        assert trace.lines == []

    async def test_a_plugin_with_a_task_group_stops_cleanly(self, caplog: pytest.LogCaptureFixture) -> None:
        @plugin()
        async def server(ctx: Context) -> AsyncIterator[None]:
            async with asyncio.TaskGroup() as group:
                serving = group.create_task(asyncio.Event().wait())
                yield
                serving.cancel()

        async with Kernel([server]) as kernel:
            assert status(kernel) == {"server": "active"}
        assert caplog.text == ""

    async def test_a_tear_down_that_raises_hinders_no_other(
        self, trace: Trace, well: Plugin, caplog: pytest.LogCaptureFixture
    ) -> None:
        @plugin(requires=(Water,))
        async def clumsy(ctx: Context) -> AsyncIterator[None]:
            yield
            raise OSError("dropped it")

        with caplog.at_level(logging.ERROR):
            async with Kernel([well, clumsy]) as kernel:
                await kernel.unload("well")
                assert reason(kernel, "clumsy") == "waits for Water (no plugin provides it)"
        assert trace.lines == ["+well", "-well"]
        assert "plugin clumsy did not stop cleanly: OSError: dropped it" in caplog.text

    async def test_a_body_that_never_yields_has_failed(self) -> None:
        @plugin()
        async def hasty(ctx: Context) -> AsyncIterator[None]:
            return
            yield

        async with Kernel([hasty]) as kernel:
            assert reason(kernel, "hasty") == "RuntimeError: generator didn't yield"

    async def test_a_settings_fault_fails_with_its_place(self, trace: Trace) -> None:
        def set_up(ctx: Context) -> None:
            ctx.settings(dict[str, int])

        config = Config.parse("[plugin.well]\ndepth = 'deep'\n")
        async with Kernel([trace.plugin("well", set_up=set_up)], config) as kernel:
            assert status(kernel) == {"well": "failed"}
            assert reason(kernel, "well") == "configuration:1: plugin.well[...]: expected `int`, got `str`"

    async def test_the_error_in_the_block_is_raised_after_the_tear_downs(self, trace: Trace, well: Plugin) -> None:
        with pytest.raises(ZeroDivisionError):
            async with Kernel([well]):
                _ = 1 / 0
        assert trace.lines == ["+well", "-well"]


class TestCancelling:
    async def test_while_starting_everything_is_torn_down(self, trace: Trace, well: Plugin) -> None:
        reached = asyncio.Event()

        @plugin(requires=(Water,))
        async def hangs(ctx: Context) -> AsyncIterator[None]:
            try:
                reached.set()
                await asyncio.Event().wait()
                yield
            finally:
                trace.lines.append("-hangs")

        async def program() -> None:
            async with Kernel([well, hangs]):
                raise AssertionError("never entered")

        running = asyncio.create_task(program())
        await reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert trace.lines == ["+well", "-hangs", "-well"]

    async def test_while_running_everything_is_torn_down(self, trace: Trace, well: Plugin, cook: Plugin) -> None:
        async def program() -> None:
            async with Kernel([well, cook]):
                await asyncio.Event().wait()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(program(), 0.01)
        assert trace.lines == ["+well", "+cook", "-cook", "-well"]

    async def test_while_stopping_the_tear_downs_go_on(self, trace: Trace, well: Plugin) -> None:
        reached, gate = asyncio.Event(), asyncio.Event()

        @plugin(requires=(Water,))
        async def slow(ctx: Context) -> AsyncIterator[None]:
            yield
            reached.set()
            await gate.wait()
            trace.lines.append("-slow")

        async def program() -> None:
            async with Kernel([well, slow]):
                pass

        running = asyncio.create_task(program())
        await reached.wait()
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert trace.lines == ["+well", "-slow", "-well"]

    async def test_a_second_time_cancels_a_tear_down_that_hangs(self, trace: Trace, well: Plugin) -> None:
        reached = asyncio.Event()

        @plugin(requires=(Water,))
        async def stuck(ctx: Context) -> AsyncIterator[None]:
            yield
            reached.set()
            await asyncio.Event().wait()

        async def program() -> None:
            async with Kernel([well, stuck]):
                pass

        running = asyncio.create_task(program())
        await reached.wait()
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert trace.lines == ["+well", "-well"]

    async def test_unloading_cancels_a_set_up_that_hangs(self, trace: Trace, well: Plugin) -> None:
        reached = asyncio.Event()

        @plugin(requires=(Water,))
        async def hangs(ctx: Context) -> AsyncIterator[None]:
            reached.set()
            await asyncio.Event().wait()
            yield

        async with Kernel([well]) as kernel:
            loading = asyncio.create_task(kernel.load(hangs))
            await reached.wait()
            await kernel.unload("well")
            await loading
            assert status(kernel) == {"hangs": "pending"}

    async def test_a_caller_that_gives_up_waiting_leaves_the_kernel_consistent(
        self, trace: Trace, well: Plugin, guest: Plugin
    ) -> None:
        gate = asyncio.Event()

        @plugin(requires=(Water,), provides=(Coffee,))
        async def slow(ctx: Context) -> AsyncIterator[None]:
            await gate.wait()
            ctx.provide(Coffee, Coffee())
            yield

        async with Kernel([well]) as kernel:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(kernel.load(slow, guest), 0.01)
            assert status(kernel) == {"well": "active", "slow": "starting", "guest": "pending"}
            gate.set()
            await kernel.settled()
            assert set(status(kernel).values()) == {"active"}

    async def test_a_set_up_that_swallows_its_cancellation_is_torn_down(self, trace: Trace) -> None:
        reached = asyncio.Event()

        @plugin()
        async def stubborn(ctx: Context) -> AsyncIterator[None]:
            reached.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                trace.lines.append("swallowed")
            yield
            trace.lines.append("torn down")

        async with Kernel() as kernel:
            loading = asyncio.create_task(kernel.load(stubborn))
            await reached.wait()
            await kernel.unload("stubborn")
            await loading
            assert kernel.states() == []
        assert trace.lines == ["swallowed", "torn down"]


class TestScopes:
    async def test_an_agents_scope_ends_with_the_plugin_that_made_it(self, well: Plugin) -> None:
        ended: list[str] = []

        @plugin()
        async def agents(ctx: Context) -> AsyncIterator[None]:
            agent = ctx.child("agent 1")
            agent.at_end(lambda: ended.append("agent"))
            ctx.at_end(lambda: ended.append("last registration"))
            yield
            ended.append("tear-down")

        async with Kernel([agents]):
            assert ended == []
        assert ended == ["last registration", "agent", "tear-down"]

    async def test_an_agents_scope_sees_the_services_of_the_root(self, well: Plugin) -> None:
        async with Kernel([well]) as kernel, kernel.root.child("agent 1") as agent:
            assert agent[Water] is kernel[Water]

    async def test_each_plugin_runs_in_a_copy_of_the_kernels_context_variables(self) -> None:
        colour = contextvars.ContextVar("colour", default="none")
        seen: list[str] = []

        @plugin(name="one")
        async def one(ctx: Context) -> AsyncIterator[None]:
            seen.append(colour.get())
            colour.set("changed by one")
            yield
            seen.append(colour.get())

        @plugin(name="two")
        async def two(ctx: Context) -> AsyncIterator[None]:
            seen.append(colour.get())
            yield

        colour.set("red")
        async with Kernel([one, two]):
            colour.set("green")
        assert seen == ["red", "red", "changed by one"]


class TestDeclaring:
    def test_a_plugin_is_an_async_generator(self) -> None:
        with pytest.raises(PluginInvalid, match=r"plugin plain: the function must be `async def` with one `yield`"):

            @plugin()  # type: ignore[arg-type]
            async def plain(ctx: Context) -> None:
                pass

    def test_it_may_not_require_what_it_provides(self) -> None:
        with pytest.raises(PluginInvalid, match="plugin odd: requires Water, which it provides itself"):

            @plugin(requires=(Water,), provides=(Water,))
            async def odd(ctx: Context) -> AsyncIterator[None]:
                yield
