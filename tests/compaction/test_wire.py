"""Through compactions every protocol's wire order stays valid, with reasoning between the calls of one answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agent.stage import endings
from tests.compaction.test_sessions import WINDOW, look, until_compacted
from tests.compaction.worker import NAME, Worker, is_summary_request, workshop
from tests.llm.asking import service

from everlog.llm import deltas
from everlog.session.records import Delta
from everlog.session.request import Request

LABS = "".join(
    f'[provider.{name}]\nprotocol = "{protocol}"\nbase_url = "http://localhost:1"\nneeds_key = false\n'
    for name, protocol in (("chat", "openai-chat"), ("responses", "openai-responses"), ("claude", "anthropic-messages"))
)


class Thinking(Worker):
    """A worker that thinks before, and again between, the calls of one answer."""

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Answer."""
        if is_summary_request(request) or self.asked % 4 == 3:
            async for delta in super().stream(request, body):
                yield delta
            return
        self.asked += 1
        self.requests.append(request)
        yield deltas.reasoning(0, f"first thought {self.asked}")
        for index, name in ((1, "a"), (2, "b")):
            yield deltas.call(index, json.dumps({"at": name}), f"{name}{self.asked}", "look")
        yield deltas.reasoning(3, "second thought")
        yield deltas.call(4, json.dumps({"at": "c"}), f"c{self.asked}", "look")
        yield deltas.finish(deltas.TOOL_CALLS)


def chat_objection(body: Any) -> str | None:
    """Say what a server of chat completions refuses."""
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"{message['tool_call_id']} was not asked"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return f"{message['role']} before the results of {waiting}"
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
    return f"no results of {waiting}" if waiting else None


def responses_objection(body: Any) -> str | None:
    """Say what a server of responses refuses."""
    asked: set[str] = set()
    answered: set[str] = set()
    for item in body["input"]:
        if item.get("type") == "function_call":
            asked.add(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in asked - answered:
                return f"{item['call_id']} was not asked"
            answered.add(item["call_id"])
    return f"no results of {asked - answered}" if asked != answered else None


def claude_objection(body: Any) -> str | None:
    """Say what a server of messages refuses."""
    waiting: set[str] = set()
    role = "assistant"
    for message in body["messages"]:
        if message["role"] == role:
            return f"two messages of {role} in a row"
        role = message["role"]
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if results != waiting:
            return f"{waiting} wait for results, and {results} come"
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return f"no results of {waiting}" if waiting else None


OBJECTIONS = {"chat": chat_objection, "responses": responses_objection, "claude": claude_objection}


async def test_each_request_of_a_compacted_session_is_one_that_each_protocol_takes() -> None:
    worker = Thinking(lambda number, request: f"answer {number} " + "word " * 300, WINDOW)
    async with workshop(worker, [look]) as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent, 2)
        assert set(endings(agent.session)) == {"completed"}
        kinds = [[type(block).__name__ for block in m.content] for m in agent.session.messages() if m.calls]
        assert ["Reasoning", "ToolCall", "ToolCall", "Reasoning", "ToolCall"] in kinds
    async with service(LABS) as models:
        for name, objection in OBJECTIONS.items():
            route = models.resolve(f"{name}/m")
            for request in worker.requests:
                tools = [tool for tool in request.tools if isinstance(tool, dict)]
                body = json.loads(route.adapter.encode(Request(route.header(tools), request.messages), None))
                assert objection(body) is None, name
    assert any(is_summary_request(request) for request in worker.requests)


@pytest.mark.parametrize("name", OBJECTIONS)
async def test_the_objections_would_tell(name: str) -> None:
    from tests.llm.asking import answered, called, request_to

    async with service(LABS) as models:
        route = models.resolve(f"{name}/m")
        body = json.loads(route.adapter.encode(request_to(route, "go", answered("I look", called("a"))), None))
        parts = body.get("messages") or body["input"]
        del parts[-1]  # the result that the adapter gave where the log has none
        assert OBJECTIONS[name](body) is not None
