"""The responses protocol against a server that speaks it: streams, second turns, and reasoning that goes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.llm.asking import READ, answered, ask, called, service
from tests.peers.aimock import Aimock
from tests.peers.rogue import http, rogue, sse

from everlog.llm.seam import ModelFailure
from everlog.session.messages import (
    Message,
    ModelSource,
    Reasoning,
    Text,
    ToolCall,
    developer_message,
    read_message,
    system_message,
    tool_message,
)
from everlog.session.payloads import Usage


def lab(url: str, more: str = "") -> str:
    return f'[provider.lab]\nprotocol = "openai-responses"\nbase_url = "{url}"\nneeds_key = false\n{more}'


def events(*items: dict[str, Any], usage: dict[str, Any] | None = None) -> bytes:
    """A stream that gives whole items, with their deltas, as OpenAI does."""
    said = []
    for at, item in enumerate(items):
        said.append({"type": "response.output_item.added", "output_index": at, "item": {**item, "content": []}})
        for number, part in enumerate(item.get("summary", [])):
            place = {"output_index": at, "summary_index": number}
            said.append({"type": "response.reasoning_summary_text.delta", **place, "delta": part["text"]})
        for number, part in enumerate(item.get("content", [])):
            place = {"output_index": at, "content_index": number}
            said.append({"type": "response.output_text.delta", **place, "delta": part["text"]})
        if "arguments" in item:
            delta = {"output_index": at, "delta": item["arguments"]}
            said.append({"type": "response.function_call_arguments.delta", **delta})
        said.append({"type": "response.output_item.done", "output_index": at, "item": item})
    said.append({"type": "response.completed", "response": {"status": "completed", "usage": usage}})
    return http(sse(*(json.dumps(event) for event in said)))


THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Second."}],
    "encrypted_content": "gAAAA/secret+reasoning==",
}
THOUGHT_2 = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAAA/more=="}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
}
CALL_A = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "read", "arguments": '{"file_path":"a"}'}
CALL_B = {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "read", "arguments": '{"file_path":"b"}'}
CALL_C = {"type": "function_call", "id": "fc_3", "call_id": "call_c", "name": "read", "arguments": '{"file_path":"c"}'}


async def test_an_answer_streams_with_parallel_calls_and_a_second_round(aimock: Aimock) -> None:
    calls = [{"id": "call_a", "name": "read", "arguments": '{"file_path": "a"}'}]
    calls.append({"id": "call_b", "name": "read", "arguments": '{"file_path": "b"}'})
    aimock.answer({"content": "Both.", "toolCalls": calls, "chunkSize": 3}, hasToolResult=False)
    aimock.answer({"content": "Done."}, hasToolResult=True)
    async with service(lab(aimock.openai_url)) as models:
        route = models.resolve("lab/m")
        system = system_message("Be brief.", id="s")
        first = await ask(route, system, "go", tools=[READ])
        results = tool_message("call_b", "B", id="r1"), tool_message("call_a", "A", id="r2")
        second = await ask(route, system, "go", first.message, *results, tools=[READ])
    assert [call.name for call in first.message.calls] == ["read", "read"]
    assert first.message.text == "Both."
    assert first.finish_reason == "tool-calls"
    assert second.message.text == "Done."
    assert aimock.bodies == [first.body, second.body]
    sent = json.loads(first.body)
    assert (sent["store"], sent["stream"], sent["include"]) == (False, True, ["reasoning.encrypted_content"])
    assert sent["input"][0] == {
        "type": "message",
        "role": "system",
        "content": [{"type": "input_text", "text": "Be brief."}],
    }
    outputs = [item for item in json.loads(second.body)["input"] if item["type"] == "function_call_output"]
    assert [(item["call_id"], item["output"]) for item in outputs] == [("call_a", "A"), ("call_b", "B")]


async def test_thinking_between_calls_keeps_its_order_and_goes_back_byte_for_byte() -> None:
    items = [THOUGHT, CALL_A, CALL_B, THOUGHT_2, SAID, CALL_C]
    with rogue([events(*items)]) as server:
        async with service(lab(server.url)) as models:
            route = models.resolve("lab/m")
            first = await ask(route, "go", tools=[READ])
            reloaded = read_message(first.message.to_json())
            results = [tool_message(f"call_{x}", x, id=f"r{x}") for x in "cab"]
            second = await ask(route, "go", reloaded, *results, tools=[READ])
    assert first.message.content == (
        Reasoning(text="First."),
        Reasoning(text="Second."),
        ToolCall(id="call_a", name="read", arguments='{"file_path":"a"}'),
        ToolCall(id="call_b", name="read", arguments='{"file_path":"b"}'),
        Text(text="I look."),
        ToolCall(id="call_c", name="read", arguments='{"file_path":"c"}'),
    )
    sent = json.loads(second.body)["input"]
    assert sent[1:7] == items
    assert [item["call_id"] for item in sent[7:]] == ["call_a", "call_b", "call_c"]


async def test_state_of_another_provider_or_model_or_of_altered_content_is_left_out() -> None:
    with rogue([events(THOUGHT, SAID)], [events(SAID)]) as server:
        async with service(lab(server.url) + "[provider.other]\n" + lab(server.url).partition("\n")[2]) as models:
            first = (await ask(models.resolve("lab/m"), "go")).message
            shorter = Message(id=first.id, role="assistant", content=first.content[:2], source=first.source)
            for route, message in [("other/m", first), ("lab/m2", first), ("lab/m", shorter)]:
                await ask(models.resolve(route), "go", message, "more")
    assert isinstance(first.source, ModelSource)
    assert first.source.replay_state is not None
    assert not any(b"gAAAA" in body or b"rs_1" in body or b"msg_1" in body for body in server.bodies)


async def test_a_developer_message_and_bad_arguments_go_out_in_an_accepted_form(aimock: Aimock) -> None:
    aimock.answer({"content": "ok"})
    bad = answered("text", called("x", arguments="[1]"), called("y" * 80, name="no tool"))
    async with service(lab(aimock.openai_url, "options = { reasoning_effort = 'high', max_tokens = 9 }")) as models:
        await ask(models.resolve("lab/m"), "go", bad, tool_message("x", "no"), developer_message("changed", "p"))
    body = json.loads(aimock.bodies[0])
    assert (body["reasoning"], body["max_output_tokens"]) == ({"effort": "high"}, 9)
    calls = [item for item in body["input"] if item["type"] == "function_call"]
    assert json.loads(calls[0]["arguments"]) == {"invalid_arguments": "[1]"}
    assert len(calls[1]["call_id"]) <= 64
    assert calls[1]["name"] == "no_tool"
    assert body["input"][-1]["role"] == "developer"


async def test_usage_is_made_disjoint() -> None:
    said = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 15},
    }
    with rogue([events(SAID, usage=said)]) as server:
        async with service(lab(server.url)) as models:
            answer = await ask(models.resolve("lab/m"), "go")
    assert answer.usage == Usage(input_tokens=40, cache_read_tokens=60, output_tokens=20, reasoning_tokens=15)


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (
            {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "m"}}},
            "RATE_LIMIT",
        ),
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "m"}}}, "SERVER"),
        ({"type": "error", "code": "context_length_exceeded", "message": "m"}, "CONTEXT_OVERFLOW"),
        ({"type": "response.created", "response": {}}, "TRANSPORT"),
        ({"no": "type"}, "PROTOCOL"),
    ],
)
async def test_an_error_inside_the_stream_is_a_failure_with_a_code(event: dict[str, Any], code: str) -> None:
    with rogue([http(sse(json.dumps(event)))]) as server:
        async with service(lab(server.url)) as models:
            with pytest.raises(ModelFailure) as caught:
                await ask(models.resolve("lab/m"), "go")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("why", "reason"), [("max_output_tokens", "max-tokens"), ("content_filter", "content-filter"), ("else", "other")]
)
async def test_an_incomplete_answer_says_why(why: str, reason: str) -> None:
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "par"}
    end = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": why}}}
    with rogue([http(sse(json.dumps(delta), json.dumps(end)))]) as server:
        async with service(lab(server.url)) as models:
            answer = await ask(models.resolve("lab/m"), "go")
    assert (answer.message.text, answer.finish_reason) == ("par", reason)
