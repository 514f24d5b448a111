"""What plugins may do around a call, and that a listener that fails does not get in its way."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.tools.workshop import Workshop, call, code, text

from everlog.session.messages import Text
from everlog.tools.declare import tool
from everlog.tools.hooks import EXECUTE, FINISHED, POLICY, Deny, ToolUse
from everlog.tools.seam import ToolOutput, output

Next = Callable[[ToolUse], Awaitable[ToolOutput]]
Last = Callable[[ToolUse, ToolOutput], Awaitable[ToolOutput]]


@tool(effects="read-only", parallel_safe=True)
async def echo(word: str) -> str:
    """Say it again."""
    return word


@pytest.fixture
def shop(shop: Workshop) -> Workshop:
    shop.tools.add(echo)
    return shop


async def test_a_listener_may_change_the_arguments_and_the_output(shop: Workshop) -> None:
    async def shout(inner: Next, use: ToolUse) -> ToolOutput:
        made = await inner(replace(use, arguments={"word": str(use.arguments["word"]).upper()}))
        return replace(made, content=(*made.content, Text(text="!")))

    shop.scope.on(EXECUTE, shout)
    assert text(await shop.one("echo", word="hi")) == "HI!"


async def test_a_listener_may_answer_in_the_tools_place(shop: Workshop) -> None:
    async def remembered(inner: Next, use: ToolUse) -> ToolOutput:
        return output("from memory")

    shop.scope.on(EXECUTE, remembered)
    assert text(await shop.one("echo", word="hi")) == "from memory"


async def test_a_listener_that_fails_is_left_out_and_the_tool_runs_once(shop: Workshop) -> None:
    ran: list[str] = []

    @tool
    async def count() -> str:
        """Count."""
        ran.append("once")
        return "counted"

    async def broken(inner: Next, use: ToolUse) -> ToolOutput:
        await inner(use)
        raise RuntimeError

    shop.tools.add(count)
    shop.scope.on(EXECUTE, broken)
    assert text(await shop.one("count")) == "counted"
    assert ran == ["once"]


async def test_a_listener_may_cut_a_call_short(shop: Workshop) -> None:
    @tool
    async def endless() -> str:
        """Go on."""
        await asyncio.Event().wait()
        return "never"

    async def impatient(inner: Next, use: ToolUse) -> ToolOutput:
        async with asyncio.timeout(0.01):
            return await inner(use)

    shop.tools.add(endless)
    shop.scope.on(EXECUTE, impatient)
    assert code(await shop.one("endless")) == "TOOL_FAILED"


async def test_the_last_look_sees_what_the_log_would_get_and_its_answer_is_made_fit_too(shop: Workshop) -> None:
    seen: list[str] = []

    async def last(inner: Last, use: ToolUse, made: ToolOutput) -> ToolOutput:
        seen.append(made.text)
        return output("\ud83d" + "x" * 100_000)

    @tool
    async def odd() -> str:
        """Give half a character."""
        return "\ud800"

    shop.tools.add(odd)
    shop.scope.on(FINISHED, last)
    told = text(await shop.one("odd"))
    assert seen == ["\ufffd"]
    assert told.startswith("\ufffdx")
    assert len(told) < 51_000


async def test_a_cancellation_during_the_last_look_keeps_what_the_tool_gave(shop: Workshop) -> None:
    looking = asyncio.Event()

    async def slow(inner: Last, use: ToolUse, made: ToolOutput) -> ToolOutput:
        looking.set()
        await asyncio.Event().wait()
        return made

    shop.scope.on(FINISHED, slow)
    working = asyncio.create_task(shop.step(call("echo", word="hi")))
    await looking.wait()
    working.cancel()
    await asyncio.wait({working})
    assert [text(result) for result in shop.results()] == ["hi"]


async def test_a_policy_that_breaks_down_refuses(shop: Workshop) -> None:
    async def broken(use: ToolUse) -> Deny | None:
        raise RuntimeError

    shop.scope.on(POLICY, broken)
    assert code(await shop.one("echo", word="hi")) == "PERMISSION_DENIED"


async def test_a_call_runs_outside_a_session_too(shop: Workshop) -> None:
    made = await shop.tools.run(call("echo", word="hi"), replace(shop.context, session=None))
    assert (made.text, made.error) == ("hi", None)


async def test_an_agents_own_tool_hides_the_one_of_that_name_until_it_is_taken_back(shop: Workshop) -> None:
    @tool(name="echo")
    async def other(word: str) -> str:
        """Say it backwards."""
        return word[::-1]

    agent = shop.scope.child("agent")
    added = shop.tools.add(other, agent)
    assert [one.description for one in shop.tools.offered(agent) if one.name == "echo"] == ["Say it backwards."]
    assert [one.description for one in shop.tools.offered() if one.name == "echo"] == ["Say it again."]
    added.undo()
    assert shop.tools.schemas(agent) == shop.tools.schemas()
