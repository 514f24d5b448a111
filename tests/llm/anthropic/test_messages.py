"""The messages protocol against a server that speaks it: signed thinking, calls, caching, and what goes wrong."""

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
    table = f'protocol = "anthropic-messages"\nbase_url = "{url.removesuffix("/v1")}"\nneeds_key = false\n{more}\n'
    return f"[provider.lab]\n{table}"


def events(*blocks: dict[str, Any], stop: str = "end_turn", usage: dict[str, Any] | None = None) -> bytes:
    """A stream that gives whole blocks in pieces, as Anthropic does."""
    said: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": usage or {}}}]
    for at, block in enumerate(blocks):
        empty = {key: ("" if key in ("text", "thinking", "signature") else block[key]) for key in block}
        said.append({"type": "content_block_start", "index": at, "content_block": {**empty, "input": {}}})
        for kind, key, name in _DELTAS:
            if key in block:
                whole = block[key] if isinstance(block[key], str) else json.dumps(block[key])
                for piece in (whole[: len(whole) // 2], whole[len(whole) // 2 :]):
                    said.append({"type": "content_block_delta", "index": at, "delta": {"type": kind, name: piece}})
        said.append({"type": "content_block_stop", "index": at})
    said.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}})
    said.append({"type": "message_stop"})
    return http(sse(*(f"event: {event['type']}\ndata: {json.dumps(event)}" for event in said)))


_DELTAS = [
    ("thinking_delta", "thinking", "thinking"),
    ("signature_delta", "signature", "signature"),
    ("text_delta", "text", "text"),
    ("input_json_delta", "input", "partial_json"),
]

THOUGHT = {"type": "thinking", "thinking": "Let me look.\u2028", "signature": "EqQBCgIYAhIM+signed/0123=="}
HIDDEN = {"type": "thinking", "thinking": "", "signature": "EqQB+empty=="}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgB+encrypted=="}
SAID = {"type": "text", "text": "I look."}
BLANK = {"type": "text", "text": "\n\n"}


def use(id: str, path: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "read", "input": {"file_path": path}}


async def test_an_answer_streams_with_thinking_and_parallel_calls_and_a_second_round(aimock: Aimock) -> None:
    calls = [{"id": "toolu_a", "name": "read", "arguments": '{"file_path": "a"}'}]
    calls.append({"id": "toolu_b", "name": "read", "arguments": '{"file_path": "b"}'})
    first = {
        "content": "Both.",
        "toolCalls": calls,
        "reasoning": "Hm.",
        "reasoningSignature": "c2lnbmVk",
        "chunkSize": 3,
    }
    aimock.answer(first, hasToolResult=False)
    aimock.answer({"content": "Done."}, hasToolResult=True)
    async with service(lab(aimock.url)) as models:
        route = models.resolve("lab/m")
        system = system_message("Be brief.", id="s")
        one = await ask(route, system, "go", tools=[READ])
        results = tool_message("toolu_b", "B", id="r1"), tool_message("toolu_a", "A", is_error=True, id="r2")
        two = await ask(route, system, "go", one.message, *results, tools=[READ])
    assert one.message.content[:2] == (Reasoning(text="Hm."), Text(text="Both."))
    assert [call.id for call in one.message.calls] == ["toolu_a", "toolu_b"]
    assert one.finish_reason == "tool-calls"
    assert two.message.text == "Done."
    assert aimock.bodies == [one.body, two.body]
    body = json.loads(two.body)
    assert body["system"] == [{"type": "text", "text": "Be brief."}]
    assert body["max_tokens"] == 8192
    assert body["tools"] == [
        {"name": "read", "description": "Read a file.", "input_schema": READ["parameters"]},
    ]
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    assert body["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_a",
            "content": [{"type": "text", "text": "A"}],
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "toolu_b", "content": [{"type": "text", "text": "B"}]},
    ]


async def test_thinking_between_calls_keeps_its_order_and_goes_back_byte_for_byte() -> None:
    blocks = [THOUGHT, use("toolu_a", "a"), use("toolu_b", "b"), REDACTED, HIDDEN, SAID, use("toolu_c", "c")]
    with rogue([events(*blocks, stop="tool_use")]) as server:
        async with service(lab(server.url)) as models:
            route = models.resolve("lab/m")
            one = await ask(route, "go", tools=[READ])
            reloaded = read_message(one.message.to_json())
            results = [tool_message(f"toolu_{x}", x, id=f"r{x}") for x in "cab"]
            two = await ask(route, "go", reloaded, *results, tools=[READ])
    assert one.message.content == (
        Reasoning(text=str(THOUGHT["thinking"])),
        ToolCall(id="toolu_a", name="read", arguments='{"file_path": "a"}'),
        ToolCall(id="toolu_b", name="read", arguments='{"file_path": "b"}'),
        Text(text="I look."),
        ToolCall(id="toolu_c", name="read", arguments='{"file_path": "c"}'),
    )
    assert json.loads(two.body)["messages"][1]["content"] == blocks


async def test_a_blank_text_is_left_out_and_what_was_signed_stays() -> None:
    with rogue([events(THOUGHT, BLANK, use("toolu_a", "a"), stop="tool_use")]) as server:
        async with service(lab(server.url)) as models:
            route = models.resolve("lab/m")
            one = await ask(route, "go", tools=[READ])
            two = await ask(route, "go", one.message, tool_message("toolu_a", "A"), tools=[READ])
    assert json.loads(two.body)["messages"][1]["content"] == [THOUGHT, use("toolu_a", "a")]


async def test_signed_thinking_goes_to_nobody_else_and_never_altered() -> None:
    with rogue([events(THOUGHT, REDACTED, SAID)], [events(SAID)]) as server:
        other = lab(server.url).replace("provider.lab", "provider.other")
        async with service(lab(server.url) + other) as models:
            one = (await ask(models.resolve("lab/m"), "go")).message
            altered = Message(
                id="x",
                role="assistant",
                content=(Reasoning(text="Another thought."), Text(text="I look.")),
                source=one.source,
            )
            for route, message in [("other/m", one), ("lab/m2", one), ("lab/m", altered)]:
                await ask(models.resolve(route), "go", message, "more")
    assert isinstance(one.source, ModelSource)
    for body in server.bodies[1:]:
        assert json.loads(body)["messages"][1]["content"] == [SAID]
        assert b"EqQB" not in body
        assert b"EmwK" not in body


async def test_a_fixed_thinking_budget_is_left_out_after_calls_of_another_model(aimock: Aimock) -> None:
    aimock.answer({"content": "ok"})
    asked = answered("I look.", called("toolu_a"), provider="other"), tool_message("toolu_a", "A")
    async with service(lab(aimock.url)) as models:
        route = models.resolve("lab/m", {"thinking": {"type": "enabled", "budget_tokens": 2048}})
        await ask(route, "go", *asked)
        await ask(route, "go", *asked, answered("It is so.", id="a2", provider="other"), "and now?")
    assert ["thinking" in json.loads(body) for body in aimock.bodies] == [False, True]


async def test_the_prompt_is_marked_for_the_cache_where_it_will_grow(aimock: Aimock) -> None:
    aimock.answer({"content": "ok"})
    async with service(lab(aimock.url, "options = { cache = true }")) as models:
        said = [system_message("s"), "one", answered("a", id="a1"), "two", answered("b", id="a2"), "three"]
        await ask(models.resolve("lab/m"), *said, tools=[READ])
    body = json.loads(aimock.bodies[0])
    marked = [m["content"][-1]["text"] for m in body["messages"] if "cache_control" in m["content"][-1]]
    assert marked == ["two", "three"]
    assert body["system"][-1]["cache_control"] == body["tools"][-1]["cache_control"] == {"type": "ephemeral"}


async def test_options_are_said_as_the_protocol_has_them(aimock: Aimock) -> None:
    aimock.answer({"content": "ok"})
    options = {
        "maxTokens": 50,
        "temperature": 0.5,
        "topK": 3,
        "stop": ["X"],
        "toolChoice": "required",
        "parallelToolCalls": False,
        "reasoningEffort": "low",
        "extra": {"metadata": {"user_id": "u"}, "model": "evil"},
    }
    async with service(lab(aimock.url)) as models:
        await ask(models.resolve("lab/m", options), "go", developer_message("now\nread-only", "p"), tools=[READ])
    body = json.loads(aimock.bodies[0])
    assert body["model"] == "m"
    assert (body["max_tokens"], body["temperature"], body["top_k"], body["stop_sequences"]) == (50, 0.5, 3, ["X"])
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert body["output_config"] == {"effort": "low"}
    assert body["metadata"] == {"user_id": "u"}
    assert [part["text"] for part in body["messages"][0]["content"]] == ["go", "now\nread-only"]


async def test_a_conversation_that_begins_with_the_model_gets_a_beginning(aimock: Aimock) -> None:
    aimock.answer({"content": "ok"})
    bad = answered(called("!", name="no tool", arguments="null"))
    async with service(lab(aimock.url)) as models:
        await ask(models.resolve("lab/m"), bad, tool_message("!", "no"))
    messages = json.loads(aimock.bodies[0])["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "user"]
    [call] = messages[1]["content"]
    assert (call["name"], call["input"]) == ("no_tool", {"invalid_arguments": "null"})
    assert messages[2]["content"][0]["tool_use_id"] == call["id"]


async def test_usage_comes_disjoint() -> None:
    said = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 10, "output_tokens": 1}
    with rogue([events(SAID, usage=said)]) as server:
        async with service(lab(server.url)) as models:
            answer = await ask(models.resolve("lab/m"), "go")
    assert answer.usage == Usage(input_tokens=5, cache_read_tokens=90, cache_write_tokens=10, output_tokens=7)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("end_turn", "stop"), ("max_tokens", "max-tokens"), ("refusal", "content-filter"), ("pause_turn", "other")],
)
async def test_the_reason_of_the_end_has_the_neutral_name(stop: str, reason: str) -> None:
    with rogue([events(SAID, stop=stop)]) as server:
        async with service(lab(server.url)) as models:
            assert (await ask(models.resolve("lab/m"), "go")).finish_reason == reason


def failed(type: str, message: str = "m") -> str:
    error = {"type": "error", "error": {"type": type, "message": message}}
    return f"event: error\ndata: {json.dumps(error)}"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (http(sse(failed("overloaded_error"))), "SERVER"),
        (http(sse(failed("rate_limit_error"))), "RATE_LIMIT"),
        (http(sse(failed("invalid_request_error", "prompt is too long: 9 > 8"))), "CONTEXT_OVERFLOW"),
        (http(sse(failed("invalid_request_error"))), "BAD_REQUEST"),
        (http(sse('event: message_start\ndata: {"type":"message_start"}')), "TRANSPORT"),
        (http(sse('event: message_start\ndata: {"type":"mess')), "PROTOCOL"),
        (
            http(sse('event: content_block_delta\ndata: {"type":"content_block_delta","index":3,"delta":{}}')),
            "PROTOCOL",
        ),
        (http(b"<html>hi</html>", "text/html"), "NOT_FOUND"),
        (http(b'{"error":{"message":"no"}}', "application/json", "401 Unauthorized"), "AUTH"),
        (http(b'{"error":{"message":"no"}}', "application/json", "413 Too Large"), "CONTEXT_OVERFLOW"),
        (http(b'{"error":{"message":"no"}}', "application/json", "529 Overloaded"), "SERVER"),
        (b"", "TRANSPORT"),
    ],
)
async def test_what_goes_wrong_is_one_failure_with_a_code(answer: bytes, code: str) -> None:
    with rogue([answer]) as server:
        async with service(lab(server.url)) as models:
            with pytest.raises(ModelFailure) as caught:
                await ask(models.resolve("lab/m"), "go")
    assert caught.value.code == code
    assert len(server.bodies) == 1


async def test_a_disconnect_in_mid_stream_is_a_failure_of_the_transport(aimock: Aimock) -> None:
    aimock.answer({"content": "one two three four", "chunkSize": 3, "latency": 30, "truncateAfterChunks": 5})
    async with service(lab(aimock.url)) as models:
        with pytest.raises(ModelFailure) as caught:
            await ask(models.resolve("lab/m"), "go")
    assert caught.value.code == "TRANSPORT"
