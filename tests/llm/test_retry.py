"""A failed attempt is made again when that may help: on the same route after a wait, or on another one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.peers.aimock import Aimock

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.retry import FallbackPolicy, FallbackSettings, RetryPolicy, RetrySettings
from everlog.llm.script import script_route, scripted
from everlog.llm.seam import FailedAttempt, ModelFailure, Models
from everlog.session.live import Session
from everlog.session.payloads import AssistantAttempt, LlmRetry, RequestSent

QUICK = "[plugin.retry]\nfirst_wait = 0.001\njitter = 0.0\n"
ROUTE = script_route([], "m")


def failed(code: str, *, tries: int = 1, asked: int | None = None) -> FailedAttempt:
    failure = ModelFailure("no", code, retry_after_ms=asked)
    return FailedAttempt(ROUTE, tries, failure, (ROUTE.name,) * tries)


async def delay(failed: FailedAttempt, **settings: Any) -> float | None:
    decision = await RetryPolicy(RetrySettings(jitter=0.0, **settings)).decide(failed)
    return None if decision is None else decision.delay_ms


async def test_waits_double_up_to_the_longest() -> None:
    waits = [await delay(failed("SERVER", tries=n), attempts=9, longest_wait=5.0) for n in range(1, 6)]
    assert waits == [1000, 2000, 4000, 5000, 5000]


async def test_chance_adds_no_more_than_its_share() -> None:
    policy = RetryPolicy(RetrySettings(first_wait=1.0, jitter=0.5))
    decisions = [await policy.decide(failed("TIMEOUT")) for _ in range(20)]
    assert all(decision is not None and 1000 <= decision.delay_ms <= 1500 for decision in decisions)


async def test_the_providers_delay_is_heeded_unless_it_is_too_long() -> None:
    assert await delay(failed("RATE_LIMIT", asked=7000)) == 7000
    assert await delay(failed("RATE_LIMIT", asked=10)) == 1000
    assert await delay(failed("RATE_LIMIT", asked=301_000)) is None


@pytest.mark.parametrize("code", ["AUTH", "NOT_FOUND", "BAD_REQUEST", "CONTEXT_OVERFLOW", "QUOTA", "CONTENT_FILTER"])
async def test_what_waiting_does_not_mend_is_not_tried_again(code: str) -> None:
    assert await delay(failed(code)) is None


async def test_a_route_gets_its_number_of_tries() -> None:
    assert await delay(failed("SERVER", tries=2), attempts=3) is not None
    assert await delay(failed("SERVER", tries=3), attempts=3) is None


def payloads(session: Session, kind: type[Any]) -> list[Any]:
    return [event.data for event in session.events if isinstance(event.data, kind)]


async def run(config: str, scripts: dict[str, Any], cwd: Path) -> Session:
    async with Harness(Config.parse(QUICK + config), store="memory:", plugins=[scripted(scripts)]) as harness:
        agent = await harness.agents.create("script/a", cwd=cwd)
        agent.followup("go")
        await agent.when_idle()
        return agent.session


BUSY = [{"text": "par"}, {"usage": {"outputTokens": 3}}, {"fail": {"code": "SERVER", "message": "busy"}}]


async def test_each_try_is_in_the_log_with_its_usage_and_the_answer_follows(tmp_path: Path) -> None:
    session = await run("", {"a": [BUSY, BUSY, "done"]}, tmp_path)
    assert [m.text for m in session.messages() if m.role == "assistant"] == ["done"]
    assert [sent.attempt for sent in payloads(session, RequestSent)] == [1, 2, 3]
    attempts = payloads(session, AssistantAttempt)
    assert [(a.attempt, a.failure.message, a.usage.output_tokens) for a in attempts] == [(1, "busy", 3), (2, "busy", 3)]
    assert [retry.delay_ms for retry in payloads(session, LlmRetry)] == [1, 2]


async def test_when_a_route_fails_for_good_another_goes_on_and_stays(tmp_path: Path) -> None:
    config = '[plugin.fallback.routes]\n"script/a" = "script/b"\n'
    session = await run(config, {"a": [BUSY] * 5, "b": [[{"call": {"name": "todo_write"}}], "done"]}, tmp_path)
    headers = [event.data.header.config["model"] for event in session.events if event.type == "request/header"]  # type: ignore[union-attr,index,call-overload]
    assert headers == ["a", "b"]
    assert len(payloads(session, AssistantAttempt)) == 5
    assert [m.text for m in session.messages() if m.role == "assistant"][-1] == "done"


async def test_a_key_that_is_refused_sends_the_request_elsewhere_at_once(tmp_path: Path) -> None:
    config = '[plugin.fallback.routes]\n"script/a" = "script/b"\n"script/b" = "script/a"\n'
    refused = [{"fail": {"code": "AUTH", "message": "refused"}}]
    session = await run(config, {"a": [refused], "b": [refused]}, tmp_path)
    assert len(payloads(session, RequestSent)) == 2, "a route that this step has tried is not tried again"


async def test_a_fallback_that_cannot_be_had_is_none() -> None:
    policy = FallbackPolicy(FallbackSettings(routes={"script/m": "nobody/x"}), Models())
    assert await policy.decide(failed("SERVER")) is None


async def test_against_a_server_the_wait_is_what_it_asks_for(aimock: Aimock, tmp_path: Path) -> None:
    aimock.answer({"error": {"message": "slow down"}, "status": 429, "retryAfter": 0.05}, {"content": "ok"})
    config = Config.parse(f'{QUICK}[provider.lab]\nbase_url = "{aimock.openai_url}"\nneeds_key = false\n')
    async with Harness(config, store="memory:") as harness:
        agent = await harness.agents.create("lab/m", cwd=tmp_path)
        agent.followup("go")
        await agent.when_idle()
        session = agent.session
    assert [m.text for m in session.messages() if m.role == "assistant"] == ["ok"]
    [retry] = payloads(session, LlmRetry)
    assert retry.failure.code == "RATE_LIMIT"
    assert retry.delay_ms == retry.failure.provider_retry_after_ms
    assert len(set(aimock.bodies)) == 1, "the same request, byte for byte"


async def test_a_wait_can_be_cancelled(tmp_path: Path) -> None:
    config = Config.parse("[plugin.retry]\nfirst_wait = 50.0\n")
    async with Harness(config, store="memory:", plugins=[scripted({"a": [BUSY, "done"]})]) as harness:
        agent = await harness.agents.create("script/a", cwd=tmp_path)
        agent.followup("go")
        while not payloads(agent.session, LlmRetry):  # noqa: ASYNC110 (the log has no event to wait for)
            await asyncio.sleep(0.001)
        agent.cancel()
        await agent.when_idle()
        assert agent.session.events[-1].type == "turn/end"
