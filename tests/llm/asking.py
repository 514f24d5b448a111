"""What the tests of models share: a service with its protocols, requests, and one answer of a route."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from everlog.kernel import Config, Kernel, Plugin
from everlog.llm.anthropic.messages import anthropic
from everlog.llm.models import models
from everlog.llm.openai.chat import openai
from everlog.llm.openai.responses import openai_responses
from everlog.llm.seam import Assembler, BlobReader, Models, Route
from everlog.session.messages import Block, Message, Reasoning, Text, ToolCall, model_source, user_message
from everlog.session.payloads import Usage
from everlog.session.records import Delta
from everlog.session.request import Request

READ = {
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
}


class Answer:
    """One answer, and everything about how it came."""

    def __init__(self, assembler: Assembler, deltas: list[Delta], body: bytes) -> None:
        self._assembler = assembler
        self.deltas = deltas
        self.body = body

    @property
    def message(self) -> Message:
        return self._assembler.message("answer")

    @property
    def usage(self) -> Usage | None:
        return self._assembler.usage

    @property
    def finish_reason(self) -> str | None:
        return self._assembler.finish_reason


def request_to(route: Route, *messages: Message | str, tools: Sequence[dict[str, Any]] = ()) -> Request:
    """A request of these messages; a text is a user's."""
    said = [user_message(m, id=f"u{at}") if isinstance(m, str) else m for at, m in enumerate(messages)]
    return Request(header=route.header(tools), messages=said)


async def ask(
    route: Route, *messages: Message | str, tools: Sequence[dict[str, Any]] = (), blobs: BlobReader | None = None
) -> Answer:
    """Send a request, and give the answer when it is complete."""
    request = request_to(route, *messages, tools=tools)
    body = route.adapter.encode(request, blobs)
    assembler, given = Assembler(route.provider, route.model), []
    async for delta in route.adapter.stream(request, body):
        given.append(delta)
        assembler.add(delta)
    return Answer(assembler, given, body)


def answered(
    *blocks: Block | str, id: str = "a", provider: str = "lab", model: str = "m", replay_state: object = None
) -> Message:
    """An answer of a model, as a log holds it; a text is a text block."""
    content = tuple(Text(text=block) if isinstance(block, str) else block for block in blocks)
    return Message(id=id, role="assistant", content=content, source=model_source(provider, model, replay_state))


def called(id: str, name: str = "read", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def thought(text: str) -> Reasoning:
    return Reasoning(text=text)


@asynccontextmanager
async def service(toml: str, *plugins: Plugin) -> AsyncIterator[Models]:
    """The service with the protocols of OpenAI and Anthropic, and what else is given."""
    async with Kernel([models, openai, openai_responses, anthropic, *plugins], Config.parse(toml)) as kernel:
        yield kernel[Models]
