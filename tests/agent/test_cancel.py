"""A cancel keeps what was said, answers every call, closes what is open, and leaves the queue alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from tests.agent.stage import MODEL, call, endings, payloads, said, stage, types, until

from everlog.agent.seam import PRE_STEP, Agent, Enter, Proposal, Reject
from everlog.kernel import Context, Plugin, plugin
from everlog.llm.seam import RETRY, FailedAttempt, Retry
from everlog.session.messages import Reasoning, Text
from everlog.session.rules import check
from everlog.tools.declare import tool


@tool(effects="read-only")
async def forever() -> str:
    """Never come back."""
    await asyncio.Event().wait()
    return "never"


@tool
async def quick() -> str:
    """Come back at once."""
    return "quick"


def listening(hook: Any, listener: Any) -> Plugin:
    @plugin(name=f"on-{hook.name}")
    async def listens(ctx: Context) -> AsyncIterator[None]:
        """Listens to one hook."""
        ctx.on(hook, listener)
        yield

    return listens


async def cancelled_at(agent: Agent, type: str, clear_inbox: bool = False) -> None:
    """Cancel as soon as an event of the type is logged, and wait for the end of it."""
    await until(lambda: type in types(agent.session))
    agent.cancel(clear_inbox)
    await agent.when_idle()
    assert check(agent.session) == []
    assert not agent.session.ledger.turns.is_open


async def test_a_cancelled_stream_leaves_what_was_said_as_an_interrupted_answer() -> None:
    talk = [{"reasoning": "well"}, {"text": "one two "}, {"pause": 60_000}, {"text": "three"}]
    async with stage([talk, "fine"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("count")
        await until(lambda: types(agent.session).count("assistant/chunk") == 2)
        agent.cancel()
        await agent.when_idle()
        [event] = [event for event in agent.session.events if event.type == "assistant/message"]
        [answer] = payloads(agent.session, "assistant/message")
        assert answer.interrupted
        assert answer.message.content == (Reasoning(text="well"), Text(text="one two "))
        chunks = [event.seq for event in agent.session.events if event.type == "assistant/chunk"]
        assert list(event.source_event_seqs or ()) == chunks
        [end] = payloads(agent.session, "turn/end")
        assert (end.reason.kind, end.reason.reason) == ("aborted", {"kind": "user"})
        agent.followup("go on")
        await agent.when_idle()
        assert said(agent.session)[-1] == "assistant: fine"


async def test_half_a_call_is_not_kept() -> None:
    talk = [{"text": "I will"}, call("quick"), {"pause": 60_000}]
    async with stage([talk]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: types(agent.session).count("assistant/chunk") == 2)
        await cancelled_at(agent, "assistant/chunk")
        assert said(agent.session) == ["user: go", "assistant: I will"]
        assert "tool/call" not in types(agent.session)


async def test_a_stream_with_nothing_to_see_leaves_an_attempt() -> None:
    async with stage([[{"pause": 60_000}, {"text": "a"}]]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await cancelled_at(agent, "request/sent")
        [attempt] = payloads(agent.session, "assistant/attempt")
        assert attempt.failure is None
        assert said(agent.session) == ["user: go"]


async def test_a_cancelled_call_is_answered_and_the_next_prompt_is_served() -> None:
    async with stage([call("forever"), "fine"], [forever]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await cancelled_at(agent, "tool/call")
        [result] = payloads(agent.session, "tool/result")
        assert result.error.code == "TOOL_CANCELLED"
        agent.followup("never mind")
        await agent.when_idle()
        assert said(agent.session)[-1] == "assistant: fine"
        assert endings(agent.session) == ["aborted", "completed"]


async def test_calls_that_were_not_begun_are_answered_as_such_in_call_order() -> None:
    async with stage([[call("quick"), call("forever"), call("quick")]], [forever, quick]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: types(agent.session).count("tool/call") == 2)
        await cancelled_at(agent, "tool/call")
        codes = [result.error and result.error.code for result in payloads(agent.session, "tool/result")]
        assert codes == [None, "TOOL_CANCELLED", "TOOL_NOT_STARTED"]


async def test_queued_input_stays_and_wakes_nothing_until_more_comes_and_then_goes_first() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}], "b", "c"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        agent.followup("two")
        await cancelled_at(agent, "assistant/chunk")
        assert [input.message.text for input in agent.session.project("inbox")] == ["two"]
        assert not agent.running
        agent.followup("three")
        await agent.when_idle()
        assert [line for line in said(agent.session) if "user" in line] == ["user: one", "user: two", "user: three"]


async def test_waking_begins_with_what_is_pending() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}], "b"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        agent.followup("two")
        await cancelled_at(agent, "assistant/chunk")
        agent.wake()
        await agent.when_idle()
        assert said(agent.session)[-2:] == ["user: two", "assistant: b"]
        agent.wake()
        assert not agent.running


async def test_clearing_the_inbox_is_told_by_events() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}]]) as harness:
        agent = await harness.agents.create(MODEL)
        for text in ("one", "two", "three"):
            agent.followup(text)
        agent.steer("four")
        await cancelled_at(agent, "assistant/chunk", clear_inbox=True)
        assert len(agent.session.project("inbox")) == 0
        assert [splice.outcome for splice in payloads(agent.session, "inbox/spliced") if splice.outcome] == ["cleared"]


async def test_a_followup_right_after_a_cancel_is_served() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}], "b"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await until(lambda: "assistant/chunk" in types(agent.session))
        agent.cancel()
        agent.followup("two")
        await agent.when_idle()
        assert said(agent.session) == ["user: one", "assistant: a", "user: two", "assistant: b"]
        assert endings(agent.session) == ["aborted", "completed"]


async def test_a_cancel_before_the_turn_began_leaves_the_input_pending() -> None:
    async with stage(["a"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        agent.cancel()
        await agent.when_idle()
        assert types(agent.session) == ["inbox/spliced"]
        agent.wake()
        await agent.when_idle()
        assert said(agent.session) == ["user: one", "assistant: a"]


async def test_a_cancel_while_a_hook_thinks_enters_nothing() -> None:
    async def think(next: Callable[[Proposal], Awaitable[Enter | Reject]], proposal: Proposal) -> Enter | Reject:
        await asyncio.sleep(60)
        return await next(proposal)

    async with stage(["a"], plugins=[listening(PRE_STEP, think)]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await cancelled_at(agent, "turn/start")
        assert types(agent.session) == ["inbox/spliced", "turn/start", "turn/end"]
        assert len(agent.session.project("inbox")) == 1


async def test_input_that_was_cleared_while_a_hook_thought_is_not_entered() -> None:
    gate = asyncio.Event()

    async def think(next: Callable[[Proposal], Awaitable[Enter | Reject]], proposal: Proposal) -> Enter | Reject:
        await gate.wait()
        return await next(proposal)

    async with stage(["a"], plugins=[listening(PRE_STEP, think)]) as harness:
        from everlog.agent import inbox

        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await until(lambda: "turn/start" in types(agent.session))
        inbox.clear(agent.session)
        gate.set()
        await agent.when_idle()
        assert endings(agent.session) == ["blocked"]
        assert said(agent.session) == []


async def test_a_cancel_while_the_next_attempt_is_waited_for_ends_the_wait() -> None:
    async def patient(failed: FailedAttempt) -> Retry:
        return Retry(delay_ms=60_000)

    async with stage([{"fail": {"code": "SERVER"}}], plugins=[listening(RETRY, patient)]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await cancelled_at(agent, "llm/retry")
        assert endings(agent.session) == ["aborted"]


async def test_two_cancels_are_one() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}], "b"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await until(lambda: "assistant/chunk" in types(agent.session))
        agent.cancel()
        agent.cancel()
        await agent.when_idle()
        agent.cancel()
        agent.followup("two")
        await agent.when_idle()
        assert endings(agent.session) == ["aborted", "completed"]


async def test_who_cancelled_is_told_by_the_log() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}]]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await until(lambda: "assistant/chunk" in types(agent.session))
        agent.cancel(kind="hook", reason="it is late")
        await agent.when_idle()
        [end] = payloads(agent.session, "turn/end")
        assert end.reason.reason == {"kind": "hook", "reason": "it is late"}


async def test_pending_input_wakes_nothing_after_an_error() -> None:
    async with stage([{"fail": {"code": "AUTH"}}, "b", "c"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        agent.followup("two")
        await agent.when_idle()
        assert endings(agent.session) == ["error"]
        assert len(agent.session.project("inbox")) == 1
        agent.steer("three")
        await agent.when_idle()
        assert said(agent.session) == ["user: one", "user: three", "user: two", "assistant: b"]
