"""The loop keeps the order of a turn, whatever the capabilities that it orders do."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.agent.stage import MODEL, call, endings, payloads, said, stage, told, types, until

from everlog.agent.limits import Limits, TimeLimit, limits_from
from everlog.agent.seam import (
    DISPATCH,
    PRE_STEP,
    TURN_STOPPING,
    Enter,
    Outgoing,
    Proposal,
    Reject,
    Stopping,
)
from everlog.kernel import Config, ConfigError, Context, Plugin, plugin
from everlog.llm.seam import RETRY, FailedAttempt, Retry
from everlog.session import Message
from everlog.session.messages import user_message
from everlog.session.records import Delta
from everlog.session.request import Request
from everlog.session.rules import check
from everlog.tools.declare import tool


@tool(effects="read-only", parallel_safe=True)
async def slow(seconds: float) -> str:
    """Wait for a while.

    Args:
        seconds: how long.
    """
    await asyncio.sleep(seconds)
    return f"waited {seconds}"


@tool(effects="mutating")
async def poke() -> str:
    """Change something."""
    return "poked"


def listening(hook: Any, listener: Any) -> Plugin:
    @plugin(name=f"on-{hook.name}")
    async def listens(ctx: Context) -> AsyncIterator[None]:
        """Listens to one hook."""
        ctx.on(hook, listener)
        yield

    return listens


async def test_a_turn_logs_its_events_in_the_order_of_the_contract() -> None:
    async with stage([[{"reasoning": "hm"}, call("poke")], "done"], [poke]) as harness:
        agent = await told(harness, "go")
        assert types(agent.session) == [
            "inbox/spliced",
            "turn/start",
            "step/start",
            "system/message",
            "user/message",
            "request/header",
            "request/context",
            "request/sent",
            *["assistant/chunk"] * 3,
            "assistant/message",
            "tool/call",
            "tool/result",
            "step/end",
            "step/start",
            "request/sent",
            *["assistant/chunk"] * 2,
            "assistant/message",
            "step/end",
            "turn/end",
        ]
        assert said(agent.session) == ["user: go", "assistant: 1 calls", "user: poked", "assistant: done"]
        assert endings(agent.session) == ["completed"]
        assert check(agent.session) == []


async def test_the_answer_cites_exactly_its_chunks() -> None:
    async with stage(["one two three"]) as harness:
        agent = await told(harness, "go")
        [answer] = [event for event in agent.session.events if event.type == "assistant/message"]
        chunks = [event.seq for event in agent.session.events if event.type == "assistant/chunk"]
        assert list(answer.source_event_seqs or ()) == chunks


async def test_results_stand_in_call_order_although_a_later_call_was_faster() -> None:
    async with stage([[call("slow", seconds=0.1), call("slow", seconds=0.0)], "done"], [slow]) as harness:
        agent = await told(harness, "go")
        assert said(agent.session)[2:4] == ["user: waited 0.1", "user: waited 0.0"]
        assert types(agent.session).count("tool/settled") == 1


async def test_each_followup_has_a_turn_of_its_own() -> None:
    async with stage(["a", "b", "c"]) as harness:
        agent = await told(harness, "1", "2", "3")
        assert said(agent.session) == ["user: 1", "assistant: a", "user: 2", "assistant: b", "user: 3", "assistant: c"]
        assert endings(agent.session) == ["completed"] * 3


async def test_steering_joins_the_next_step_of_the_running_turn() -> None:
    async with stage([call("slow", seconds=0.1), "done"], [slow]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: "tool/call" in types(agent.session))
        agent.steer("quicker")
        await agent.when_idle()
        assert said(agent.session) == [
            "user: go",
            "assistant: 1 calls",
            "user: waited 0.1",
            "user: quicker",
            "assistant: done",
        ]
        assert endings(agent.session) == ["completed"]


async def test_steering_that_comes_with_the_last_answer_is_owed_a_step() -> None:
    async with stage([[{"text": "a"}, {"pause": 50}], "b"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: "request/sent" in types(agent.session))
        agent.steer("one more thing")
        await agent.when_idle()
        assert said(agent.session)[-2:] == ["user: one more thing", "assistant: b"]
        assert endings(agent.session) == ["completed"]


async def test_an_injection_waits_for_the_next_turn_and_begins_none() -> None:
    async with stage(["a", "b"]) as harness:
        agent = await told(harness, "go")
        agent.inject("it rains")
        assert not agent.running
        agent.followup("and now?")
        await agent.when_idle()
        assert said(agent.session)[2:] == ["user: it rains", "user: and now?", "assistant: b"]


async def test_a_failing_tool_is_a_result_and_no_failed_turn() -> None:
    @tool
    async def broken() -> str:
        """Break."""
        raise RuntimeError("no luck")

    async with stage([call("broken"), "well"], [broken]) as harness:
        agent = await told(harness, "go")
        assert endings(agent.session) == ["completed"]
        assert "no luck" in said(agent.session)[2]


@pytest.mark.parametrize("arguments", ['{"a":1, b":2}', "[]", '"x"', "null", ""])
async def test_arguments_that_are_no_object_are_kept_raw_and_answered_with_an_error(arguments: str) -> None:
    async with stage([{"call": {"name": "slow", "arguments": arguments}}, "sorry"], [slow]) as harness:
        agent = await told(harness, "go")
        [taken] = payloads(agent.session, "tool/call")
        [result] = payloads(agent.session, "tool/result")
        assert taken.arguments == arguments
        assert result.error.code == "INVALID_ARGUMENTS"
        assert said(agent.session)[-1] == "assistant: sorry"


async def test_a_provider_failure_ends_the_turn_as_an_error_and_the_agent_lives_on() -> None:
    async with stage([{"fail": {"code": "AUTH", "status": 401}}, "fine"]) as harness:
        agent = await told(harness, "go")
        [attempt] = payloads(agent.session, "assistant/attempt")
        assert (attempt.failure.code, attempt.failure.status) == ("AUTH", 401)
        assert endings(agent.session) == ["error"]
        agent.followup("again")
        await agent.when_idle()
        assert endings(agent.session) == ["error", "completed"]


async def test_an_empty_answer_is_a_failure() -> None:
    async with stage([{"text": ""}]) as harness:
        agent = await told(harness, "go")
        [end] = payloads(agent.session, "turn/end")
        assert end.reason.error.code == "EMPTY_RESPONSE"
        assert said(agent.session) == ["user: go"]


async def test_a_policy_may_have_an_attempt_made_again() -> None:
    async def twice(failed: FailedAttempt) -> Retry | None:
        return Retry(delay_ms=1) if failed.attempt < 3 else None

    failing = {"fail": {"code": "SERVER", "status": 500}}
    async with stage([failing, failing, "at last"], plugins=[listening(RETRY, twice)]) as harness:
        agent = await told(harness, "go")
        kinds = ["request/sent", "assistant/attempt", "llm/retry"]
        assert [t for t in types(agent.session) if t in (*kinds, "request/header", "assistant/message")] == [
            "request/header",
            *kinds,
            *kinds,
            "request/sent",
            "assistant/message",
        ]
        assert endings(agent.session) == ["completed"]
        assert check(agent.session) == []


async def test_the_output_ceiling_is_told_for_the_whole_turn() -> None:
    cut = [{"text": "I will"}, call("poke"), {"finish": "max-tokens"}]
    async with stage([cut, "done"], [poke]) as harness:
        agent = await told(harness, "go")
        assert said(agent.session)[-1] == "assistant: done"
        assert endings(agent.session) == ["max-tokens"]


@pytest.mark.parametrize(
    ("limits", "which", "value"),
    [("steps = 3", "steps", 3), ("repeated_call = 2", "repeated-call", 2), ("tokens = 100", "tokens", 100)],
)
async def test_a_budget_ends_the_turn_and_says_so(limits: str, which: str, value: int) -> None:
    answers = [[call("poke"), {"usage": {"inputTokens": 30, "outputTokens": 20}}]] * 9
    async with stage(answers, [poke], config=f"[plugin.limits]\n{limits}\n") as harness:
        agent = await told(harness, "go")
        [end] = payloads(agent.session, "turn/end")
        assert (end.reason.kind, end.reason.which, end.reason.limit) == ("limit", which, value)


def test_a_project_makes_only_less_of_what_the_user_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *args, **kwargs: tmp_path / "user")
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "everlog.toml").write_text("[plugin.limits]\ncost = 4\nsteps = 100\ntokens = 0\n")
    (tmp_path / "everlog.toml").write_text("[plugin.limits]\ncost = 0\nsteps = 7\ntokens = 9\nrepeated_call = 20\n")
    assert limits_from(Config.load(tmp_path, {}), "limits") == Limits(cost=4, steps=7, tokens=9, repeated_call=20)


@pytest.mark.parametrize("limit", ["cost = -1", "cost = nan", "time = nan", "steps = -5"])
def test_what_is_no_limit_is_refused(limit: str) -> None:
    with pytest.raises(ConfigError, match="is no limit; 0 is for none"):
        limits_from(Config.parse(f"[plugin.limits]\n{limit}\n"), "limits")


async def test_a_turn_whose_time_is_over_ends_at_once_and_the_queue_goes_on() -> None:
    answers = [[{"text": "I think "}, {"pause": 60_000}], "b"]
    async with stage(answers, config="[plugin.limits]\ntime = 1\n") as harness:
        agent = await told(harness, "one", "two")
        [end, _] = payloads(agent.session, "turn/end")
        assert (end.reason.kind, end.reason.which, end.reason.limit) == ("limit", "time", 1)
        assert said(agent.session) == ["user: one", "assistant: I think ", "user: two", "assistant: b"]


@pytest.mark.parametrize("ended", ["turn", "agent", "plugin"])
async def test_the_clock_of_a_turn_is_put_away_with_turn_agent_and_plugin(
    ended: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, limit, clocks = asyncio.get_running_loop(), TimeLimit(3600), list[asyncio.TimerHandle]()

    def noting(delay: float, callback: Callable[..., object], *args: Any, **more: Any) -> asyncio.TimerHandle:
        timer = call_later(delay, callback, *args, **more)
        clocks.extend([timer] if delay == 3600 else [])
        return timer

    call_later = loop.call_later
    monkeypatch.setattr(loop, "call_later", noting)
    answers = ["a"] if ended == "turn" else [[{"text": "I think "}, {"pause": 60_000}]]
    async with stage(answers, plugins=[listening(PRE_STEP, limit.watch)]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await until(lambda: "request/sent" in types(agent.session))
        match ended:
            case "turn":
                await agent.when_idle()
            case "agent":
                await agent.dispose()
            case "plugin":
                limit.close()
        assert [clock.cancelled() for clock in clocks] == [True]


async def test_a_turn_that_has_cost_enough_ends() -> None:
    answers = [[call("poke"), {"usage": {"inputTokens": 1000, "outputTokens": 100}}]] * 9
    prices = '[model."script/it"]\nprice = {input = 1000, output = 10000}\n[plugin.limits]\ncost = 4\n'
    async with stage(answers, [poke], config=prices) as harness:
        agent = await told(harness, "go")
        [end] = payloads(agent.session, "turn/end")
        assert (end.reason.which, end.reason.limit) == ("cost", 4)
        assert len(payloads(agent.session, "step/start")) == 2


async def test_what_a_pre_step_hook_leaves_out_is_rejected_and_what_it_rewrites_keeps_its_id() -> None:
    async def edit(next: Callable[[Proposal], Awaitable[Enter | Reject]], proposal: Proposal) -> Enter | Reject:
        kept = [m for m in proposal.messages if "secret" not in m.text]
        shouted = [replace(m, content=user_message(m.text.upper()).content) for m in kept]
        return Enter(tuple(shouted))

    async with stage(["a"], plugins=[listening(PRE_STEP, edit)]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.inject("the secret is 42")
        id = agent.followup("hello")
        await agent.when_idle()
        assert said(agent.session) == ["user: HELLO", "assistant: a"]
        assert [m.id for m in agent.session.messages() if m.role == "user"] == [id]
        assert [data.outcome for data in payloads(agent.session, "inbox/spliced")] == [None, None, "rejected"]


async def test_a_rejected_turn_has_no_step_and_ends_blocked() -> None:
    async def refuse(next: Callable[[Proposal], Awaitable[Enter | Reject]], proposal: Proposal) -> Enter | Reject:
        return Reject("not today")

    async with stage(["a"], plugins=[listening(PRE_STEP, refuse)]) as harness:
        agent = await told(harness, "go", "go on")
        assert types(agent.session)[2:] == ["turn/start", "inbox/spliced", "turn/end"] * 2
        assert endings(agent.session) == ["blocked", "blocked"]
        assert len(agent.session.project("inbox")) == 0


async def test_a_turn_stopping_hook_may_have_the_turn_go_on() -> None:
    asked: list[int] = []

    async def once_more(stopping: Stopping) -> Message | None:
        asked.append(stopping.steps)
        return user_message("Did you run the tests?") if stopping.steps == 1 else None

    async with stage(["a", "b"], plugins=[listening(TURN_STOPPING, once_more)]) as harness:
        agent = await told(harness, "go")
        assert asked == [1, 2]
        assert said(agent.session)[2:] == ["user: Did you run the tests?", "assistant: b"]
        assert len(payloads(agent.session, "turn/start")) == 1


def tampering(change: Callable[[Request], Request]) -> Plugin:
    async def tamper(
        next: Callable[[Outgoing], Awaitable[AsyncIterator[Delta]]], outgoing: Outgoing
    ) -> AsyncIterator[Delta]:
        return await next(dataclasses.replace(outgoing, request=change(outgoing.request)))

    return listening(DISPATCH, tamper)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda request: Request(request.header, request.messages[:-1]), "messages[1]"),
        (lambda request: Request(request.header, [*request.messages, user_message("psst")]), "messages[2]"),
        (lambda request: Request(request.header, request.messages[::-1]), "messages[0]"),
    ],
)
async def test_a_hook_that_changes_a_request_has_it_stopped(change: Callable[[Request], Request], part: str) -> None:
    async with stage(["never said"], plugins=[tampering(change)]) as harness:
        agent = await told(harness, "go")
        [end] = payloads(agent.session, "turn/end")
        assert end.reason.error.code == "REQUEST_DIFFERS"
        assert part in end.reason.error.message
        assert "assistant/chunk" not in types(agent.session)
        assert check(agent.session) == []


async def test_a_hook_may_look_at_every_request() -> None:
    seen: list[tuple[int, int, int, int]] = []

    async def look(
        next: Callable[[Outgoing], Awaitable[AsyncIterator[Delta]]], outgoing: Outgoing
    ) -> AsyncIterator[Delta]:
        seen.append((outgoing.turn, outgoing.step, outgoing.attempt, len(outgoing.request.messages)))
        return await next(outgoing)

    async with stage([call("poke"), "done"], [poke], [listening(DISPATCH, look)]) as harness:
        await told(harness, "go")
        assert seen == [(1, 1, 1, 2), (1, 2, 1, 4)]


async def test_an_answer_that_is_none_rejects_no_input() -> None:
    async def nothing(next: Callable[[Proposal], Awaitable[Enter | Reject]], proposal: Proposal) -> None:
        return None

    async with stage(["a"], plugins=[listening(PRE_STEP, nothing)]) as harness:
        agent = await told(harness, "go")
        assert endings(agent.session) == ["error"]
        assert len(agent.session.project("inbox")) == 1


async def test_a_broken_hook_ends_nothing() -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("I am broken")

    plugins = [listening(hook, broken) for hook in (PRE_STEP, DISPATCH, TURN_STOPPING, RETRY)]
    async with stage(["fine"], plugins=plugins) as harness:
        agent = await told(harness, "go")
        assert endings(agent.session) == ["completed"]
