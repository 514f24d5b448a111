"""The calls of one answer: order, barriers, the pool, and an answer for every call whatever happens."""

import asyncio
from pathlib import Path

import pytest
from tests.tools.workshop import Workshop, call, code, raw_call, text

from everlog.session.payloads import ToolSettled
from everlog.session.repair import closers
from everlog.tools.declare import tool
from everlog.tools.seam import Tool, ToolContext, ToolOutput, output


class Gates:
    """Tools that run until the test lets them end."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.most = 0
        self.opened: dict[str, asyncio.Event] = {}
        self.order: list[str] = []

    def open(self, *names: str) -> None:
        for name in names:
            self.opened.setdefault(name, asyncio.Event()).set()

    async def _pass(self, name: str) -> str:
        self.running.append(name)
        self.order.append(f"+{name}")
        self.most = max(self.most, len(self.running))
        try:
            await self.opened.setdefault(name, asyncio.Event()).wait()
        finally:
            self.running.remove(name)
            self.order.append(f"-{name}")
        return name

    def tools(self) -> list[Tool]:
        @tool(effects="read-only", parallel_safe=True)
        async def look(name: str) -> str:
            """Look."""
            return await self._pass(name)

        @tool
        async def change(name: str) -> str:
            """Change."""
            return await self._pass(name)

        return [look, change]


async def until(condition: object) -> None:
    """Give the others their turns until something holds."""
    for _ in range(1_000):
        if condition():  # type: ignore[operator]
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come about")


@pytest.fixture
def gates() -> Gates:
    return Gates()


@pytest.fixture
def shop(workspace: Path, gates: Gates) -> Workshop:
    return Workshop(workspace, *gates.tools(), together=2)


async def test_results_stand_in_call_order_and_early_ones_are_settled_first(shop: Workshop, gates: Gates) -> None:
    working = asyncio.create_task(shop.step(call("look", "a", name="a"), call("look", "b", name="b")))
    await until(lambda: len(gates.running) == 2)
    gates.open("b")
    await until(lambda: "tool/settled" in shop.types())
    assert "tool/result" not in shop.types()
    gates.open("a")
    results = await working
    assert [result.message.result.tool_call_id for result in results if result.message.result] == ["a", "b"]
    settled = next(e.data for e in shop.session.events if isinstance(e.data, ToolSettled))
    assert settled.message == results[1].message


async def test_a_settled_result_outlives_a_crash_and_the_call_is_not_run_again(shop: Workshop, gates: Gates) -> None:
    calls = [call("look", name, name=name) for name in "abc"]
    shop.open_step(*calls)
    working = asyncio.create_task(shop.tools.answer(calls, shop.bench))
    await until(lambda: len(gates.running) == 2)
    gates.open("b")
    await until(lambda: "tool/settled" in shop.types())
    results = [event.data for event in closers(shop.session) if event.type == "tool/result"]
    assert [code(result) for result in results] == ["TOOL_OUTCOME_UNKNOWN", None, "TOOL_NOT_STARTED"]  # type: ignore[arg-type]
    working.cancel()
    await asyncio.wait({working})


async def test_an_exclusive_call_waits_for_those_before_and_holds_back_those_after(
    shop: Workshop, gates: Gates
) -> None:
    gates.open("a", "b", "c", "d")
    await shop.step(*(call(tool, name=name) for tool, name in [("look", "a"), ("change", "b"), ("look", "c")]))
    assert gates.order == ["+a", "-a", "+b", "-b", "+c", "-c"]


async def test_no_more_run_together_than_the_pool_holds(shop: Workshop, gates: Gates) -> None:
    working = asyncio.create_task(shop.step(*(call("look", name=name) for name in "abcde")))
    await until(lambda: len(gates.running) == 2)
    gates.open(*"abcde")
    results = await working
    assert [text(result) for result in results] == list("abcde")
    assert gates.most == 2


async def test_a_call_with_effects_runs_only_after_a_flush_that_holds_it(shop: Workshop, gates: Gates) -> None:
    gates.open("a", "b")
    await shop.step(call("look", name="a"))
    assert shop.flushed == []
    first = shop.session.next_seq
    await shop.step(call("change", name="b"))
    taken = first + shop.types(first).index("tool/call")
    assert shop.flushed[0] > taken


async def test_a_flush_that_fails_stops_the_step_before_the_tool_runs(shop: Workshop, gates: Gates) -> None:
    def fail() -> None:
        raise OSError("the lease is gone")

    shop.on_flush = fail
    with pytest.raises(OSError, match="lease"):
        await shop.step(call("change", name="a"), call("change", name="b"))
    assert gates.order == []
    assert [code(result) for result in shop.results()] == ["TOOL_NOT_STARTED", "TOOL_NOT_STARTED"]


async def test_cancelling_answers_every_call(shop: Workshop, gates: Gates) -> None:
    calls = [call("look", name="a"), call("look", name="b"), call("look", name="c"), call("change", name="d")]
    working = asyncio.create_task(shop.step(*calls))
    await until(lambda: len(gates.running) == 2)
    gates.open("b")
    await until(lambda: gates.running == ["a", "c"])
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    results = shop.results()
    assert [code(result) for result in results] == ["TOOL_CANCELLED", None, "TOOL_CANCELLED", "TOOL_NOT_STARTED"]
    shop.close_step()


async def test_a_result_that_was_there_before_the_cancellation_is_kept(shop: Workshop, workspace: Path) -> None:
    began = asyncio.Event()

    @tool
    async def stubborn(context: ToolContext) -> ToolOutput:
        """Finish what it began."""
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return output("half of it is done")
        raise AssertionError

    shop.tools.add(stubborn)
    working = asyncio.create_task(shop.step(call("stubborn")))
    await began.wait()
    working.cancel()
    await asyncio.wait({working})
    assert [text(result) for result in shop.results()] == ["half of it is done"]


async def test_a_tool_that_will_not_stop_is_left_behind_and_its_outcome_says_so(shop: Workshop) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def deaf() -> str:
        """Hear nothing."""
        began.set()
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    shop.tools.add(deaf)
    working = asyncio.create_task(shop.step(call("deaf"), call("deaf")))
    await began.wait()
    working.cancel()
    await asyncio.wait({working})
    assert [code(result) for result in shop.results()] == ["TOOL_ABANDONED", "TOOL_NOT_STARTED"]
    ended.set()


async def test_a_second_cancellation_does_not_wait_for_the_grace_time(workspace: Path) -> None:
    shop = Workshop(workspace, grace=3_600)
    began, told, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool
    async def deaf() -> str:
        """Hear nothing."""
        began.set()
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                told.set()
        return "late"

    shop.tools.add(deaf)
    working = asyncio.create_task(shop.step(call("deaf")))
    await began.wait()
    working.cancel()
    await told.wait()
    working.cancel()
    await asyncio.wait({working})
    assert [code(result) for result in shop.results()] == ["TOOL_ABANDONED"]
    ended.set()


@pytest.mark.parametrize("arguments", ['{"a":1, b":2}', "[]", '"x"', "null", "12", "{'a': 1}"])
async def test_arguments_that_are_no_json_object_are_kept_raw_and_answered(shop: Workshop, arguments: str) -> None:
    (result,) = await shop.step(raw_call("change", arguments))
    assert code(result) == "INVALID_ARGUMENTS"
    taken = next(event.data for event in shop.session.events if event.type == "tool/call")
    assert taken["arguments"] == arguments  # type: ignore[index]


async def test_an_unknown_tool_is_answered_with_what_there_is(shop: Workshop) -> None:
    result = await shop.one("chance", name="a")
    assert code(result) == "UNKNOWN_TOOL"
    assert "Did you mean change?" in text(result)


@pytest.mark.parametrize(
    "error", [RuntimeError("no"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), OSError(2, "x")]
)
@pytest.mark.parametrize("threaded", [False, True])
async def test_whatever_a_tool_raises_is_a_result(shop: Workshop, error: BaseException, threaded: bool) -> None:
    async def fails() -> str:
        """Fail."""
        raise error

    def fails_in_thread() -> str:
        """Fail."""
        raise error

    shop.tools.add(tool(fails_in_thread if threaded else fails))
    result = await shop.one("fails_in_thread" if threaded else "fails")
    assert code(result) == "TOOL_FAILED"
    assert type(error).__name__ in text(result)


async def test_a_tool_that_takes_too_long_is_stopped(shop: Workshop) -> None:
    @tool(timeout=0.01)
    async def slow() -> str:
        """Be slow."""
        await asyncio.Event().wait()
        return "never"

    shop.tools.add(slow)
    result = await shop.one("slow")
    assert code(result) == "TOOL_TIMEOUT"


async def test_a_function_in_a_thread_is_told_to_stop_and_may_finish(workspace: Path) -> None:
    shop = Workshop(workspace, grace=3_600)
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(effects="idempotent")
    def counting(context: ToolContext) -> str:
        """Count until told to stop."""
        loop.call_soon_threadsafe(began.set)
        context.cancelled.wait()
        return "counted"

    shop.tools.add(counting)
    working = asyncio.create_task(shop.step(call("counting")))
    await began.wait()
    working.cancel()
    await asyncio.wait({working})
    assert [text(result) for result in shop.results()] == ["counted"]


async def test_text_that_no_log_takes_is_made_safe(shop: Workshop) -> None:
    @tool
    async def odd() -> str:
        """Give odd text."""
        return "\ud83d|\ud83d\ude00|\0|\udc80"

    shop.tools.add(odd)
    assert text(await shop.one("odd")) == "\ufffd|\N{GRINNING FACE}|\0|\ufffd"


@pytest.mark.parametrize("meta", [{"a": float("inf")}, {"a": {1, 2}}, {1: 2}])
async def test_meta_that_json_cannot_hold_is_a_clear_error(shop: Workshop, meta: object) -> None:
    @tool
    async def odd() -> ToolOutput:
        """Give odd meta."""
        return output("fine", meta)  # type: ignore[arg-type]

    shop.tools.add(odd)
    result = await shop.one("odd")
    assert code(result) == "TOOL_RESULT_INVALID"
    assert "$" in text(result)


async def test_meta_that_is_nested_too_deep_for_an_event_is_a_clear_error(shop: Workshop) -> None:
    deep: object = "x"
    for _ in range(499):
        deep = [deep]

    @tool
    async def odd() -> ToolOutput:
        """Give deep meta."""
        return output("fine", deep)  # type: ignore[arg-type]

    shop.tools.add(odd)
    assert code(await shop.one("odd")) == "TOOL_RESULT_INVALID"


async def test_long_output_is_cut_in_the_middle_and_kept_whole_in_a_blob(shop: Workshop) -> None:
    @tool
    async def long() -> str:
        """Give much."""
        return "a" * 100_000 + "b" * 100_000

    shop.tools.add(long)
    told = text(await shop.one("long"))
    assert told.startswith("a" * 1_000)
    assert told.endswith("b" * 1_000)
    assert "[... 150,000 of 200,000 characters cut; read `blob:" in told
    assert [len(data) for data in shop.blobs.kept.values()] == [200_000]


async def test_a_cut_that_halves_a_character_pair_leaves_no_half(shop: Workshop) -> None:
    @tool
    async def long() -> str:
        """Give halves."""
        return "\ud83d" * 60_000

    shop.tools.add(long)
    text(await shop.one("long")).encode()
