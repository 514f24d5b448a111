"""A side request is logged, durable and checked before it goes out, and any process can derive it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.agent.stage import MODEL, payloads, stage, told, types, until

from everlog.agent.boundary import RequestDiffers
from everlog.agent.seam import SIDE_DISPATCH, OwnedAgent, SideOutgoing
from everlog.harness import Harness
from everlog.llm.script import script_route
from everlog.llm.seam import RETRY, Aside, FailedAttempt, ModelFailure, Retry, SideRequests
from everlog.llm.wire import wire_of_side
from everlog.session.messages import user_message
from everlog.session.rules import check
from everlog.session.views import json_raw

QUESTION = user_message("what is this about?", id="q")


def aside(agent: OwnedAgent, *answers: Any, **more: Any) -> Aside:
    route = script_route(answers or ["about foxes"] * 2, "aside")
    given = {"route": route, "header": route.header(), "purpose": "title", "messages": [QUESTION], **more}
    return Aside(session=agent.session, scope=agent.scope, **given)


def side(harness: Harness) -> SideRequests:
    return harness.kernel[SideRequests]


@pytest.mark.parametrize("prefix", ["none", "surface"])
async def test_it_stands_on_the_surface_or_on_nothing_and_is_derived_again_from_the_log(prefix: Any) -> None:
    async with stage(["a", "b"]) as harness:
        agent = await told(harness, "one")
        answer = await side(harness).ask(aside(agent, prefix=prefix))
        assert answer.message.text == "about foxes"
        agent.followup("two")
        await agent.when_idle()
        found = agent.session.project("request").sides[answer.id]
        expected = ["one", "a", "what is this about?"] if prefix == "surface" else ["what is this about?"]
        assert [message.text for message in found.request.messages if message.role != "system"] == expected
        wire = wire_of_side(agent.session, answer.id, lambda name: script_route([]).adapter)
        assert wire.matches
        assert check(agent.session) == []


async def test_it_is_durable_before_it_goes_out() -> None:
    durable: list[bool] = []

    async def look(
        next: Callable[[SideOutgoing], Awaitable[AsyncIterator[Any]]], outgoing: SideOutgoing
    ) -> AsyncIterator[Any]:
        session: Any = outgoing.session
        durable.append(session.durable_seq == session.next_seq)
        return await next(outgoing)

    async with stage(["a"]) as harness:
        agent = await told(harness, "one")
        agent.scope.on(SIDE_DISPATCH, look)
        await side(harness).ask(aside(agent))
    assert durable == [True]


ELSEWHERE = json_raw({"provider": "x", "model": "y"})


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda r: replace(r, messages=[*r.messages[:-1], user_message("something else", id="q")]), "messages[3]"),
        (lambda r: replace(r, messages=[*r.messages, user_message("more")]), "messages[4]"),
        (lambda r: replace(r, messages=[user_message("other"), *r.messages[1:]]), "messages[0]"),
        (
            lambda r: replace(r, header=replace(r.header, config_json=json_raw({"provider": "x", "model": "y"}))),
            "config",
        ),
    ],
)
async def test_what_a_hook_changed_does_not_go_out(change: Callable[[Any], Any], part: str) -> None:
    async def meddle(
        next: Callable[[SideOutgoing], Awaitable[AsyncIterator[Any]]], outgoing: SideOutgoing
    ) -> AsyncIterator[Any]:
        return await next(SideOutgoing(outgoing.session, outgoing.id, outgoing.purpose, change(outgoing.request)))

    async with stage(["a"]) as harness:
        agent = await told(harness, "one")
        agent.scope.on(SIDE_DISPATCH, meddle)
        with pytest.raises(RequestDiffers) as refused:
            await side(harness).ask(aside(agent, prefix="surface"))
        assert refused.value.part.startswith(part)


async def test_a_failure_that_passes_is_tried_again_and_each_try_is_logged() -> None:
    async def patient(failed: FailedAttempt) -> Retry | None:
        return Retry(0) if failed.attempt < 3 and failed.failure.retryable else None

    async with stage(["a"]) as harness:
        agent = await told(harness, "one")
        agent.scope.on(RETRY, patient)
        fails = {"fail": {"code": "SERVER"}}
        answer = await side(harness).ask(aside(agent, fails, fails, "about foxes"))
        assert answer.message.text == "about foxes"
        sides = payloads(agent.session, "request/side")
        assert len({sent.id for sent in sides}) == 3
        assert sides[-1].id == answer.id
        with pytest.raises(ModelFailure):
            await side(harness).ask(aside(agent, fails, fails, fails, "too late"))


async def test_a_policy_may_send_it_elsewhere() -> None:
    async def elsewhere(failed: FailedAttempt) -> Retry | None:
        return Retry(0, script_route(["from elsewhere"], "elsewhere"))

    async with stage(["a"]) as harness:
        agent = await told(harness, "one")
        agent.scope.on(RETRY, elsewhere)
        answer = await side(harness).ask(aside(agent, {"fail": {"code": "SERVER"}}))
        assert answer.message.text == "from elsewhere"
        models = [sent.header.config["model"] for sent in payloads(agent.session, "request/side")]
        assert models == ["aside", "elsewhere"]


async def test_cancelling_it_closes_the_stream_and_leaves_nothing_open() -> None:
    async with stage(["a"]) as harness:
        agent = await told(harness, "one")
        asking = asyncio.create_task(side(harness).ask(aside(agent, [{"pause": 60_000}, {"text": "-"}])))
        await until(lambda: "request/side" in types(agent.session))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert types(agent.session)[-1] == "request/side"
        assert check(agent.session) == []


async def test_it_may_be_asked_while_a_turn_runs() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}, {"text": "b"}]]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        await until(lambda: "request/sent" in types(agent.session))
        await side(harness).ask(aside(agent))
        assert agent.running
        agent.cancel()
        await agent.when_idle()
        assert types(agent.session).index("request/side") < types(agent.session).index("turn/end")
        assert check(agent.session) == []
