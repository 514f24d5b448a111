"""Chat completions against a server that speaks the protocol: what goes out, what comes back, what goes wrong."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.llm.asking import READ, answered, ask, called, request_to, service
from tests.peers.aimock import Aimock
from tests.peers.rogue import http, rogue, sse

from everlog.llm.openai.chatreader import chat_usage
from everlog.llm.seam import ModelFailure
from everlog.session.messages import (
    Message,
    Reasoning,
    Text,
    ToolCall,
    model_source,
    system_message,
    tool_message,
    user_message,
)
from everlog.session.payloads import Usage

KEY = "sk-very-secret-key-0123"


def lab(aimock: Aimock, more: str = "") -> str:
    return f'[provider.lab]\nbase_url = "{aimock.openai_url}"\nneeds_key = false\n{more}'


async def test_an_answer_streams_in_pieces_with_its_usage(aimock: Aimock) -> None:
    aimock.answer({"content": "Hello, this is an answer of some length.", "chunkSize": 5})
    async with service(lab(aimock)) as models:
        answer = await ask(models.resolve("lab/m"), "hi")
    assert answer.message.content == (Text(text="Hello, this is an answer of some length."),)
    assert len([delta for delta in answer.deltas if delta.kind == "text"]) > 3
    assert answer.finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.output_tokens > 0


async def test_the_server_receives_exactly_the_bytes_that_encode_gives(aimock: Aimock) -> None:
    aimock.answer({"content": "ok"})
    async with service(lab(aimock, "options = { temperature = 0.5, seed = 7, max_tokens = 100 }")) as models:
        route = models.resolve("lab/m")
        answer = await ask(route, system_message("Be brief. é\u2028"), "hi", tools=[READ])
        again = route.adapter.encode(request_to(route, system_message("Be brief. é\u2028"), "hi", tools=[READ]), None)
    assert aimock.bodies == [answer.body] == [again]
    body = json.loads(answer.body)
    assert body["messages"] == [
        {"role": "system", "content": "Be brief. é\u2028"},
        {"role": "user", "content": "hi"},
    ]
    assert body["tools"] == [{"type": "function", "function": READ}]
    assert (body["temperature"], body["seed"], body["max_completion_tokens"]) == (0.5, 7, 100)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


async def test_parallel_calls_and_their_results_make_a_second_round(aimock: Aimock) -> None:
    calls = [
        {"id": "call_a", "name": "read", "arguments": '{"file_path": "a.py"}'},
        {"id": "call_b", "name": "read", "arguments": '{"file_path": "b.py"}'},
    ]
    aimock.answer({"content": "I read both.", "toolCalls": calls, "chunkSize": 4}, hasToolResult=False)
    aimock.answer({"content": "Done."}, hasToolResult=True)
    async with service(lab(aimock)) as models:
        route = models.resolve("lab/m")
        first = await ask(route, "go", tools=[READ])
        results = tool_message("call_b", "B", id="r1"), tool_message("call_a", "A", id="r2")
        second = await ask(route, "go", first.message, *results, tools=[READ])
    assert first.finish_reason == "tool-calls"
    assert first.message.content == (
        Text(text="I read both."),
        ToolCall(id="call_a", name="read", arguments='{"file_path": "a.py"}'),
        ToolCall(id="call_b", name="read", arguments='{"file_path": "b.py"}'),
    )
    assert second.message.text == "Done."
    sent = json.loads(aimock.bodies[1])["messages"]
    assert [(m["role"], m.get("tool_call_id")) for m in sent] == [
        ("user", None),
        ("assistant", None),
        ("tool", "call_a"),
        ("tool", "call_b"),
    ]


async def test_reasoning_is_kept_apart_from_the_answer(aimock: Aimock) -> None:
    aimock.answer({"content": "42", "reasoning": "Six times seven."})
    async with service(lab(aimock)) as models:
        answer = await ask(models.resolve("lab/m"), "6*7?")
    assert answer.message.content == (Reasoning(text="Six times seven."), Text(text="42"))


async def test_cache_reads_are_no_part_of_the_input(aimock: Aimock) -> None:
    said = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 800, "cache_write_tokens": 100},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    aimock.answer({"content": "ok", "usage": said})
    async with service(lab(aimock)) as models:
        answer = await ask(models.resolve("lab/m"), "hi")
    assert chat_usage(said) == Usage(
        input_tokens=100, output_tokens=50, cache_read_tokens=800, cache_write_tokens=100, reasoning_tokens=30
    )
    assert answer.usage is not None


async def test_the_key_goes_over_the_wire_and_nowhere_else(aimock: Aimock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    monkeypatch.setenv("LAB_TENANT", "Tenant secret-tenant-value")
    aimock.answer({"error": {"message": f"bad key {KEY}", "type": "invalid_request_error"}, "status": 401})
    table = (
        f'[provider.lab]\nbase_url = "{aimock.openai_url}"\nkey_env = "LAB_KEY"\n'
        'headers = { "X-Tenant" = "env:LAB_TENANT" }'
    )
    async with service(table) as models:
        route = models.resolve("lab/m")
        with pytest.raises(ModelFailure) as caught:
            await ask(route, "hi")
        everything = request_to(route, "hi").to_json() + aimock.bodies[0] + repr(route).encode()
    assert aimock.received[0].headers["authorization"] == f"Bearer {KEY}"
    assert aimock.received[0].headers["x-tenant"] == "Tenant secret-tenant-value"
    assert KEY.encode() not in everything
    assert b"secret-tenant-value" not in everything
    assert KEY not in caught.value.message
    assert caught.value.code == "AUTH"
    assert "set LAB_KEY, or run: everlog auth set lab" in caught.value.message


@pytest.mark.parametrize(
    ("status", "said", "code", "retryable"),
    [
        (400, {"message": "temperature is too hot"}, "BAD_REQUEST", False),
        (400, {"message": "too long", "code": "context_length_exceeded"}, "CONTEXT_OVERFLOW", False),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, "CONTEXT_OVERFLOW", False),
        (403, {"message": "not for you"}, "AUTH", False),
        (404, {"message": "no such model"}, "NOT_FOUND", False),
        (429, {"message": "slow down"}, "RATE_LIMIT", True),
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "QUOTA", False),
        (500, {"message": "oops"}, "SERVER", True),
        (503, {"message": "overloaded"}, "SERVER", True),
    ],
)
async def test_an_error_status_becomes_a_failure_with_a_code(
    aimock: Aimock, status: int, said: dict[str, str], code: str, retryable: bool
) -> None:
    aimock.answer({"error": said, "status": status})
    async with service(lab(aimock)) as models:
        with pytest.raises(ModelFailure) as caught:
            await ask(models.resolve("lab/m"), "hi")
    failure = caught.value
    assert (failure.code, failure.status, failure.retryable) == (code, status, retryable)
    assert said["message"] in failure.message
    assert "\n" not in failure.message
    assert failure.request_id
    assert len(aimock.bodies) == 1, "the SDK must not try again by itself"


async def test_the_delay_that_a_provider_asks_for_is_told(aimock: Aimock) -> None:
    aimock.answer({"error": {"message": "slow down"}, "status": 429, "retryAfter": 7})
    async with service(lab(aimock)) as models:
        with pytest.raises(ModelFailure, match="asks to wait 7 s") as caught:
            await ask(models.resolve("lab/m"), "hi")
    assert caught.value.retry_after_ms == 7000


async def test_a_disconnect_in_mid_stream_keeps_what_came_and_fails(aimock: Aimock) -> None:
    aimock.answer({"content": "one two three four five six", "chunkSize": 4, "latency": 30, "truncateAfterChunks": 4})
    async with service(lab(aimock)) as models:
        route = models.resolve("lab/m")
        request = request_to(route, "hi")
        stream = route.adapter.stream(request, route.adapter.encode(request, None))
        assert (await anext(stream)).kind == "text"
        with pytest.raises(ModelFailure) as caught:
            _ = [delta async for delta in stream]
    assert caught.value.code == "TRANSPORT"
    assert caught.value.retryable


async def test_cancelling_in_mid_stream_closes_the_connection(aimock: Aimock) -> None:
    aimock.answer({"content": "word " * 400, "chunkSize": 5, "latency": 20})
    async with service(lab(aimock)) as models:
        route = models.resolve("lab/m")
        request = request_to(route, "hi")
        stream = route.adapter.stream(request, route.adapter.encode(request, None))
        assert (await anext(stream)).kind == "text"
        await stream.aclose()  # type: ignore[attr-defined]
        await asyncio.to_thread(aimock.wait_for_break)


async def test_arguments_that_are_no_object_do_not_poison_later_requests(aimock: Aimock) -> None:
    aimock.answer({"content": "ok"})
    bad = answered(called("x", arguments='{"a":1, b":2}'), called("y", arguments="[]"), called("z", arguments="null"))
    results = [tool_message(id, "no", is_error=True, id=f"r{id}") for id in "xyz"]
    async with service(lab(aimock)) as models:
        await ask(models.resolve("lab/m"), "go", bad, *results)
    [_, sent, *_] = json.loads(aimock.bodies[0])["messages"]
    arguments = [json.loads(call["function"]["arguments"]) for call in sent["tool_calls"]]
    assert arguments == [
        {"invalid_arguments": '{"a":1, b":2}'},
        {"invalid_arguments": "[]"},
        {"invalid_arguments": "null"},
    ]


async def test_reasoning_goes_back_only_to_the_model_that_wrote_it(aimock: Aimock) -> None:
    aimock.answer({"content": "ok", "reasoning": "Hm."})
    table = lab(aimock, 'dialect = { reasoning = "reasoning_content", replay = "turn" }')

    async with service(table) as models:
        own, other = models.resolve("lab/m"), models.resolve("lab/other")
        said = (await ask(own, "hi")).message
        cut = Message(id="cut", role="assistant", content=said.content, source=model_source("lab", "m"))
        for route, last in [(own, said), (other, said), (own, cut)]:
            await ask(route, "hi", said, user_message("go", id="u"), last)
    sent = [json.loads(body)["messages"] for body in aimock.bodies[1:]]
    thoughts = [[m.get("reasoning_content") for m in messages if m["role"] == "assistant"] for messages in sent]
    assert thoughts == [[None, "Hm."], [None, None], [None, None]], "of what came before the last input, none goes back"


async def test_signed_reasoning_goes_back_as_it_came_with_its_pieces_joined() -> None:
    text = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
    sealed = {"type": "reasoning.encrypted", "index": 1, "data": "EqQB+"}
    said = [
        {"reasoning": "Six ", "reasoning_details": [{**text, "text": "Six "}]},
        {"reasoning": "times.", "reasoning_details": [{**text, "text": "times."}]},
        {"reasoning_details": [{**text, "text": "", "signature": "EqQC=="}, {**sealed, "id": "rs_1"}]},
        {"reasoning_details": [{**sealed, "data": "more", "id": "rs_2"}]},
        {"content": "42"},
    ]
    events = [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in said]
    end = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    table = 'dialect = { reasoning = "reasoning", reasoning_details = true, replay = "all" }\nneeds_key = false\n'
    with rogue([http(sse(*events, end))]) as server:
        async with service(f'[provider.lab]\nbase_url = "{server.url}"\n{table}') as models:
            route = models.resolve("lab/m")
            answer = (await ask(route, "hi")).message
            asked = user_message("and?", id="u")
            altered = Message(id="a", role="assistant", content=(Reasoning(text="Seven."),), source=answer.source)
            await ask(route, "hi", answer, asked)
            await ask(route, "hi", altered, asked)
    [_, whole, _] = json.loads(server.bodies[1])["messages"]
    assert whole == {
        "role": "assistant",
        "content": "42",
        "reasoning_details": [
            {**text, "text": "Six times.", "signature": "EqQC=="},
            {**sealed, "id": "rs_1"},
            {**sealed, "data": "more", "id": "rs_2"},
        ],
    }
    assert b"EqQ" not in server.bodies[2], "what was altered is not passed off as signed"
