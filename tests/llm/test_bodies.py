"""Whatever a log holds, each protocol's body is one that a strict server of it accepts."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.llm.asking import READ
from tests.llm.test_wireorder import MESSAGES

from everlog.llm.anthropic.body import messages_body
from everlog.llm.failure import ModelFailure
from everlog.llm.openai.chatbody import chat_body
from everlog.llm.openai.responsesbody import responses_body
from everlog.session.messages import Message
from everlog.session.payloads import RequestHeader
from everlog.session.request import Request
from everlog.session.views import json_raw

LOGS = st.lists(MESSAGES, max_size=10)


def body(encode: Any, messages: list[Message]) -> dict[str, Any] | None:
    """The body, or None when there is nothing to ask."""
    config = {"provider": "lab", "model": "m", "maxTokens": 9}
    request = Request(RequestHeader(config_json=json_raw(config), tools_json=json_raw([READ])), messages)
    try:
        sent = encode(request, None)
    except ModelFailure:
        return None
    assert sent == encode(request, None)
    found: dict[str, Any] = json.loads(sent)
    return found


@given(LOGS)
def test_chat_completions(messages: list[Message]) -> None:
    sent = body(chat_body, messages)
    due: list[str] = []
    for message in sent["messages"] if sent else ():
        if message["role"] == "tool":
            assert message["tool_call_id"] == due.pop(0)
            assert message["content"]
            continue
        assert due == []
        assert message.get("content") or message.get("tool_calls")
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert re.fullmatch("[A-Za-z0-9_-]{1,64}", call["function"]["name"])
            assert len(call["id"]) <= 40
            due.append(call["id"])
    assert due == []


@given(LOGS)
def test_responses(messages: list[Message]) -> None:
    sent = body(responses_body, messages)
    called, answered = [], []
    for item in sent["input"] if sent else ():
        match item["type"]:
            case "message":
                # An answer may go on after its calls; what others say waits for their results.
                assert item["role"] == "assistant" or called == answered
                kinds = {part["type"] for part in item["content"]}
                assert kinds == ({"output_text"} if item["role"] == "assistant" else {"input_text"})
            case "function_call":
                assert isinstance(json.loads(item["arguments"]), dict)
                assert len(item["call_id"]) <= 64
                called.append(item["call_id"])
            case "function_call_output":
                assert item["output"]
                answered.append(item["call_id"])
    assert called == answered
    assert len(set(called)) == len(called)


@given(LOGS)
def test_messages(messages: list[Message]) -> None:
    sent = body(messages_body, messages)
    said = sent["messages"] if sent else []
    assert [m["role"] for m in said] == [("user", "assistant")[at % 2] for at in range(len(said))]
    seen: list[str] = []
    for at, message in enumerate(said):
        assert message["content"]
        texts = [part["text"] for part in message["content"] if part["type"] == "text"]
        assert all(text.strip() for text in texts)
        calls = [part for part in message["content"] if part["type"] == "tool_use"]
        assert all(isinstance(call["input"], dict) for call in calls)
        assert all(re.fullmatch("[A-Za-z0-9_-]{1,128}", call["id"]) for call in calls)
        following = said[at + 1]["content"] if calls else []
        assert [part.get("tool_use_id") for part in following[: len(calls)]] == [call["id"] for call in calls]
        seen += [call["id"] for call in calls]
    results = [p["tool_use_id"] for m in said for p in m["content"] if p["type"] == "tool_result"]
    assert results == seen
    assert len(set(seen)) == len(seen)
