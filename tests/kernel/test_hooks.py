"""Hooks: four modes, and listeners that raise never starve the others."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlog.kernel import Emit, Parallel, Scope, Serial, Waterfall

Next = Callable[[int], Awaitable[str]]

happened = Emit[[str]]("test.happened")
closing = Parallel[[str]]("test.closing")
allowed = Serial[[str], bool]("test.allowed")
careful = Serial[[str], bool]("test.careful", if_raises=lambda error: False)
run = Waterfall[[int], str]("test.run")


@pytest.fixture
def scope() -> Scope:
    return Scope("root")


async def never_answers(text: str) -> bool | None:
    return None


async def says_yes(text: str) -> bool | None:
    return True


async def says_no(text: str) -> bool | None:
    return False


async def breaks(text: str) -> bool | None:
    raise ValueError("broken listener")


async def awaits_in_vain(text: str) -> bool | None:
    """Awaits a future that somebody else cancelled: no cancellation of the caller."""
    future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


class Engine:
    """An innermost function that counts its runs."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.runs: list[int] = []
        self.error = error

    async def __call__(self, number: int) -> str:
        self.runs.append(number)
        if self.error:
            raise self.error
        return f"ran {number}"


class TestEmit:
    async def test_every_listener_hears_in_order(self, scope: Scope) -> None:
        heard: list[str] = []
        scope.on(happened, lambda text: heard.append(f"first {text}"))
        scope.on(happened, lambda text: heard.append(f"second {text}"))
        happened.emit(scope, "rain")
        assert heard == ["first rain", "second rain"]

    async def test_a_listener_that_raises_is_logged_and_the_others_hear(
        self, scope: Scope, caplog: pytest.LogCaptureFixture
    ) -> None:
        heard: list[str] = []

        def broken(text: str) -> None:
            raise ValueError("broken listener")

        scope.on(happened, broken)
        scope.on(happened, heard.append)
        with caplog.at_level(logging.ERROR):
            happened.emit(scope, "rain")
        assert heard == ["rain"]
        assert "hook test.happened" in caplog.text
        assert "broken" in caplog.text

    async def test_listeners_of_another_place_do_not_hear(self, scope: Scope) -> None:
        heard: list[str] = []
        mine, other = scope.child("mine"), scope.child("other")
        scope.on(happened, lambda text: heard.append("root"))
        mine.on(happened, lambda text: heard.append("mine"))
        other.on(happened, lambda text: heard.append("other"))
        happened.emit(mine, "rain")
        assert heard == ["root", "mine"]

    async def test_a_listener_may_leave_while_it_is_told(self, scope: Scope) -> None:
        heard: list[str] = []
        registration = scope.on(happened, lambda text: registration.undo())
        scope.on(happened, heard.append)
        happened.emit(scope, "rain")
        assert heard == ["rain"]


class TestParallel:
    async def test_all_run_at_the_same_time_and_are_awaited(self, scope: Scope) -> None:
        met = asyncio.Barrier(3)
        done: list[str] = []

        async def meet(text: str) -> None:
            await met.wait()
            done.append(text)

        for _ in range(3):
            scope.on(closing, meet)
        async with asyncio.timeout(60):
            await closing.gather(scope, "x")
        assert done == ["x"] * 3

    async def test_one_that_raises_does_not_cancel_the_others(
        self, scope: Scope, caplog: pytest.LogCaptureFixture
    ) -> None:
        done: list[str] = []

        async def broken(text: str) -> None:
            raise ValueError("broken listener")

        async def slow(text: str) -> None:
            await asyncio.sleep(0.01)
            done.append(text)

        scope.on(closing, broken)
        scope.on(closing, slow)
        with caplog.at_level(logging.ERROR):
            await closing.gather(scope, "x")
        assert done == ["x"]
        assert "broken listener" in caplog.text

    async def test_cancelling_the_caller_ends_the_listeners(self, scope: Scope) -> None:
        ended: list[str] = []

        async def hangs(text: str) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(text)

        scope.on(closing, hangs)
        task = asyncio.create_task(closing.gather(scope, "x"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["x"]


class TestSerial:
    async def test_the_first_answer_wins_also_when_it_is_false(self, scope: Scope) -> None:
        scope.on(allowed, never_answers)
        scope.on(allowed, says_no)
        scope.on(allowed, says_yes)
        assert await allowed.ask(scope, "x") is False

    async def test_nobody_answers(self, scope: Scope) -> None:
        scope.on(allowed, never_answers)
        assert await allowed.ask(scope, "x") is None

    async def test_order_goes_before_the_time_of_registration(self, scope: Scope) -> None:
        scope.on(allowed, says_yes)
        scope.on(allowed, says_no, order=-10)
        assert await allowed.ask(scope, "x") is False

    @pytest.mark.parametrize("fault", [breaks, awaits_in_vain])
    async def test_one_that_raises_has_not_answered(
        self, scope: Scope, fault: Callable[[str], Awaitable[bool | None]]
    ) -> None:
        scope.on(allowed, fault)
        scope.on(allowed, says_yes)
        assert await allowed.ask(scope, "x") is True

    @pytest.mark.parametrize("fault", [breaks, awaits_in_vain])
    async def test_a_hook_may_say_what_raising_means(
        self, scope: Scope, fault: Callable[[str], Awaitable[bool | None]]
    ) -> None:
        scope.on(careful, fault)
        scope.on(careful, says_yes)
        assert await careful.ask(scope, "x") is False

    async def test_cancelling_the_caller_passes(self, scope: Scope) -> None:
        async def hangs(text: str) -> bool | None:
            await asyncio.Event().wait()
            return None

        scope.on(careful, hangs)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await careful.ask(scope, "x")


class TestWaterfall:
    async def test_without_listeners_it_is_the_inner_function(self, scope: Scope) -> None:
        assert await run.around(scope, Engine(), 1) == "ran 1"

    async def test_the_first_listener_is_outermost(self, scope: Scope) -> None:
        async def outer(next: Next, number: int) -> str:
            return f"outer({await next(number + 1)})"

        async def inner(next: Next, number: int) -> str:
            return f"inner({await next(number * 10)})"

        scope.on(run, outer)
        scope.on(run, inner)
        assert await run.around(scope, Engine(), 1) == "outer(inner(ran 20))"

    async def test_a_listener_may_answer_itself(self, scope: Scope) -> None:
        async def answers(next: Next, number: int) -> str:
            return "no need"

        engine = Engine()
        scope.on(run, answers)
        assert await run.around(scope, engine, 1) == "no need"
        assert engine.runs == []

    async def test_a_listener_may_try_again(self, scope: Scope) -> None:
        async def twice(next: Next, number: int) -> str:
            return f"{await next(number)}, {await next(number)}"

        scope.on(run, twice)
        assert await run.around(scope, Engine(), 1) == "ran 1, ran 1"

    async def test_one_that_raises_before_next_is_left_out(
        self, scope: Scope, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def broken(next: Next, number: int) -> str:
            raise ValueError("broken listener")

        engine = Engine()
        scope.on(run, broken)
        with caplog.at_level(logging.ERROR):
            assert await run.around(scope, engine, 1) == "ran 1"
        assert engine.runs == [1]
        assert "broken listener" in caplog.text

    async def test_when_one_raises_after_next_the_answer_stands_and_nothing_runs_twice(self, scope: Scope) -> None:
        async def broken(next: Next, number: int) -> str:
            await next(number + 1)
            raise ValueError("broken listener")

        engine = Engine()
        scope.on(run, broken)
        assert await run.around(scope, engine, 1) == "ran 2"
        assert engine.runs == [2]

    async def test_the_inner_functions_error_passes_through_listeners(self, scope: Scope) -> None:
        async def passes(next: Next, number: int) -> str:
            return await next(number)

        error = OSError("engine")
        scope.on(run, passes)
        with pytest.raises(OSError, match="engine") as raised:
            await run.around(scope, Engine(error), 1)
        assert raised.value is error

    async def test_a_fault_on_the_way_out_does_not_hide_the_inner_error(self, scope: Scope) -> None:
        async def broken(next: Next, number: int) -> str:
            try:
                return await next(number)
            except OSError:
                raise ValueError("broken listener")  # noqa: B904 - a slip, not an avowed replacement

        engine = Engine(OSError("engine"))
        scope.on(run, broken)
        with pytest.raises(OSError, match="engine"):
            await run.around(scope, engine, 1)
        assert engine.runs == [1]

    async def test_a_listener_may_replace_the_inner_error_avowedly(self, scope: Scope) -> None:
        async def translates(next: Next, number: int) -> str:
            try:
                return await next(number)
            except OSError as error:
                raise LookupError("translated") from error

        scope.on(run, translates)
        with pytest.raises(LookupError, match="translated"):
            await run.around(scope, Engine(OSError("engine")), 1)

    async def test_a_listener_may_answer_in_place_of_an_error(self, scope: Scope) -> None:
        async def consoles(next: Next, number: int) -> str:
            try:
                return await next(number)
            except OSError:
                return "never mind"

        scope.on(run, consoles)
        assert await run.around(scope, Engine(OSError("engine")), 1) == "never mind"

    @pytest.mark.parametrize("limit", [asyncio.timeout, None], ids=["timeout", "wait_for"])
    async def test_a_listener_may_cut_next_short(self, scope: Scope, limit: object) -> None:
        async def hangs(number: int) -> str:
            await asyncio.Event().wait()
            return ""

        async def impatient(next: Next, number: int) -> str:
            if limit is None:
                return await asyncio.wait_for(asyncio.ensure_future(next(number)), 0.01)
            async with asyncio.timeout(0.01):
                return await next(number)

        scope.on(run, impatient)
        with pytest.raises(TimeoutError):
            await run.around(scope, hangs, 1)

    async def test_cancelling_the_caller_passes(self, scope: Scope) -> None:
        async def hangs(next: Next, number: int) -> str:
            await asyncio.Event().wait()
            return ""

        engine = Engine()
        scope.on(run, hangs)
        task = asyncio.create_task(run.around(scope, engine, 1))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.runs == []

    async def test_a_future_awaited_in_vain_is_a_fault(self, scope: Scope) -> None:
        async def vain(next: Next, number: int) -> str:
            await awaits_in_vain("")
            return ""

        scope.on(run, vain)
        assert await run.around(scope, Engine(), 1) == "ran 1"

    @given(st.lists(st.sampled_from(["passes", "early", "late"]), max_size=6))
    def test_listeners_that_break_change_nothing(self, kinds: list[str]) -> None:
        def listener(kind: str) -> Callable[[Next, int], Awaitable[str]]:
            async def listen(next: Next, number: int) -> str:
                if kind == "early":
                    raise ValueError(kind)
                answer = await next(number + 1)
                if kind == "late":
                    raise ValueError(kind)
                return f"{answer}."

            return listen

        async def scenario() -> None:
            scope, engine = Scope("root"), Engine()
            for kind in kinds:
                scope.on(run, listener(kind))
            went_on = sum(kind != "early" for kind in kinds)
            dots = "." * kinds.count("passes")
            assert await run.around(scope, engine, 0) == f"ran {went_on}{dots}"
            assert len(engine.runs) == 1

        logging.disable()
        try:
            asyncio.run(scenario())
        finally:
            logging.disable(logging.NOTSET)


def test_a_hook_shows_its_name() -> None:
    assert repr(happened) == "Emit('test.happened')"
