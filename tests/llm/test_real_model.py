"""Every protocol against a real llama.cpp server with a real small model: events and bodies, not the model's wits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.llm.asking import READ, answered, ask, called, request_to, service
from tests.peers.llamacpp import CONTEXT, LlamaCpp

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.seam import ModelFailure, Models
from everlog.llm.wire import check_wire
from everlog.session.messages import system_message, tool_message

PROTOCOLS = ["openai-chat", "openai-responses", "anthropic-messages"]
SHORT = {"maxTokens": 12, "temperature": 0, "seed": 7}

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("protocol", PROTOCOLS)]


def lab(server: LlamaCpp, protocol: str) -> str:
    url = server.url if protocol.startswith("anthropic") else server.openai_url
    return (
        f'[provider.lab]\nprotocol = "{protocol}"\nbase_url = "{url}"\nneeds_key = false\n'
        'dialect = { developer = "user", max_tokens = "max_tokens" }\n'
    )


async def test_text_streams_with_usage_and_a_second_turn_goes_on(llamacpp: LlamaCpp, protocol: str) -> None:
    async with service(lab(llamacpp, protocol)) as models:
        route = models.resolve("lab/smollm2", SHORT)
        one = await ask(route, system_message("Be brief.", id="s"), "Say hello.")
        two = await ask(route, system_message("Be brief.", id="s"), "Say hello.", one.message, "Again.")
    assert llamacpp.bodies == [one.body, two.body]
    for answer in (one, two):
        assert answer.message.text
        assert len([delta for delta in answer.deltas if delta.kind == "text"]) > 1
        assert answer.finish_reason in ("stop", "max-tokens")
        assert answer.usage is not None
        assert answer.usage.output_tokens > 0


async def test_the_same_seed_gives_the_same_answer(llamacpp: LlamaCpp, protocol: str) -> None:
    if protocol == "anthropic-messages":
        pytest.skip("the protocol has no seed")
    options = {**SHORT, "temperature": 1.5, "extra": {"seed": 11}}
    async with service(lab(llamacpp, protocol)) as models:
        route = models.resolve("lab/smollm2", options)
        said = [(await ask(route, "Tell me a word.")).message.text for _ in range(2)]
    assert said[0] == said[1]


async def test_the_prompt_cache_serves_what_was_asked_before(llamacpp: LlamaCpp, protocol: str) -> None:
    long = "One two three four five six seven eight nine ten. " * 6
    async with service(lab(llamacpp, protocol)) as models:
        route = models.resolve("lab/smollm2", SHORT)
        one = await ask(route, long)
        two = await ask(route, long, one.message, "Go on.")
    assert one.usage is not None
    assert two.usage is not None
    assert two.usage.cache_read_tokens > 60
    assert two.usage.input_tokens < two.usage.cache_read_tokens


async def test_calls_and_results_of_an_earlier_step_are_accepted(llamacpp: LlamaCpp, protocol: str) -> None:
    asked = answered("I look.", called("call_a"), called("call_b", arguments="[broken"))
    results = tool_message("call_b", "B", is_error=True, id="rb"), tool_message("call_a", "A", id="ra")
    async with service(lab(llamacpp, protocol)) as models:
        answer = await ask(models.resolve("lab/smollm2", SHORT), "go", asked, *results, tools=[READ])
    assert answer.finish_reason is not None


async def test_calls_stream_as_calls(llamacpp: LlamaCpp, protocol: str) -> None:
    """The beginning of a call is put into the model's mouth; the server's grammar makes it go on with calls."""
    options = {**SHORT, "maxTokens": 80, "toolChoice": "required", "parallelToolCalls": True}
    async with service(lab(llamacpp, protocol)) as models:
        route = models.resolve("lab/smollm2", options)
        answer = await ask(route, "Read the file a.txt.", answered("<tool_call>\n"), tools=[READ])
    calls = answer.message.calls
    assert len(calls) > 1
    assert {call.name for call in calls} == {"read"}
    assert len({call.id for call in calls}) == len(calls)
    assert json.loads(calls[0].arguments).keys() == {"file_path"}
    assert len([delta for delta in answer.deltas if delta.kind == "tool-call"]) > len(calls)


async def test_cancelling_in_mid_stream_stops_the_server(llamacpp: LlamaCpp, protocol: str) -> None:
    async with service(lab(llamacpp, protocol)) as models:
        route = models.resolve("lab/smollm2", {**SHORT, "maxTokens": 1500})
        request = request_to(route, "Count to a thousand: one, two, three,")
        stream = route.adapter.stream(request, route.adapter.encode(request, None))
        while (await anext(stream)).kind != "text":
            pass
        await stream.aclose()  # type: ignore[attr-defined]
        await asyncio.to_thread(llamacpp.wait_for_break)


async def test_a_request_beyond_the_window_is_an_overflow(llamacpp: LlamaCpp, protocol: str) -> None:
    async with service(lab(llamacpp, protocol)) as models:
        with pytest.raises(ModelFailure) as caught:
            await ask(models.resolve("lab/smollm2", SHORT), "word " * (CONTEXT + 500))
    assert caught.value.code == "CONTEXT_OVERFLOW"


async def test_an_agents_bodies_are_derived_again_from_its_log(
    llamacpp: LlamaCpp, protocol: str, tmp_path: Path
) -> None:
    store, config = (
        f"sqlite:///{tmp_path / 's.db'}",
        Config.parse(lab(llamacpp, protocol) + "options = {max_tokens = 8}"),
    )
    async with Harness(config, store=store) as harness:
        agent = await harness.agents.create("lab/smollm2", cwd=tmp_path)
        for _ in range(2):
            agent.followup("hi")
            await agent.when_idle()
        id = agent.session.id
    async with Harness(Config(), store=store) as elsewhere:
        log = await elsewhere.store.open(id, "read")
        checks = list(check_wire(log, elsewhere.kernel[Models].encoder))
    assert len(checks) >= 2
    assert [check.difference for check in checks] == [None] * len(checks)
    assert [check.body for check in checks] == llamacpp.bodies
