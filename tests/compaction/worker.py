"""A model that works: it counts tokens, refuses what is too long for its window, and judges every request it gets.

What it says is a function of a counter, so that a session can go on for as long as a test wants.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.agent.stage import BARE, offering

from everlog.harness import Harness
from everlog.kernel import Config, Context, Plugin, plugin
from everlog.llm import deltas
from everlog.llm.failure import BAD_REQUEST, CONTEXT_OVERFLOW, ModelFailure
from everlog.llm.seam import BlobReader, Models, Route
from everlog.session.jsonvalue import encode
from everlog.session.messages import Message, PluginSource, ToolCall, ToolResult
from everlog.session.payloads import Usage
from everlog.session.records import Delta
from everlog.session.request import Request
from everlog.tools.seam import Tool

NAME = "worker/it"
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")

Say = Callable[[int, Request], "str | list[tuple[str, dict[str, Any]]]"]
"""Gives the answer to the request with this number: a text, or calls as (tool, arguments)."""


def is_summary_request(request: Request) -> bool:
    """Whether the last message asks for a summary."""
    source = request.messages[-1].source
    return isinstance(source, PluginSource) and source.plugin == "compaction" and source.form == "instruction"


def count_tokens(data: bytes) -> int:
    """Count as a provider would: of pieces of words and of marks."""
    return len(_TOKEN.findall(data.decode()))


def why_invalid(messages: Sequence[Message]) -> str | None:
    """Say what no provider would accept: results without calls, calls without results, an answer as the last word."""
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        results = [block.tool_call_id for block in message.content if isinstance(block, ToolResult)]
        if results:
            if results[0] not in open_calls:
                return f"message {at} answers {results[0]}, which nobody asked"
            open_calls.remove(results[0])
        elif open_calls:
            return f"message {at} comes before the results of {open_calls}"
        open_calls += [block.id for block in message.content if isinstance(block, ToolCall)]
    if open_calls:
        return f"no results of {open_calls}"
    return None if messages and messages[-1].role != "assistant" else "the last message is not the user's"


@dataclass
class Worker:
    """The adapter. `sizes` are the tokens of each request, as they came."""

    say: Say
    window: int = 32_000
    summarise: Callable[[int, Request], str] = lambda number, request: f"summary {number} of the work so far"
    counts: bool = True
    requests: list[Request] = field(default_factory=list)
    keep_requests: bool = True
    sizes: list[int] = field(default_factory=list)
    asked: int = 0
    summaries: int = 0
    overflows: int = 0
    counted: dict[tuple[str, int], int] = field(default_factory=dict)
    name: str = "worker"
    version: str = "1"

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        """Give the request's canonical JSON."""
        return request.to_json()

    async def aclose(self) -> None:
        """Nothing is open."""

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Answer, or refuse."""
        if (why := why_invalid(request.messages)) is not None:
            raise ModelFailure(why, BAD_REQUEST, status=400)
        size = sum(self._tokens(message) for message in request.messages)
        if size > self.window:
            self.overflows += 1
            raise ModelFailure(f"{size} tokens are more than {self.window}", CONTEXT_OVERFLOW, status=400)
        self.sizes.append(size)
        if self.keep_requests:
            self.requests.append(request)
        for delta in self._answer(request):
            yield delta
        if self.counts:
            yield deltas.usage(Usage(input_tokens=size, output_tokens=20))
        yield deltas.finish(deltas.STOP)

    def _tokens(self, message: Message) -> int:
        """Count a message once; a pruned one has the id of the whole one and another length."""
        data = message.to_json()
        key = message.id, len(data)
        if key not in self.counted:
            self.counted[key] = count_tokens(data)
        return self.counted[key]

    def _answer(self, request: Request) -> Iterable[Delta]:
        if is_summary_request(request):
            self.summaries += 1
            yield deltas.text(0, self.summarise(self.summaries, request))
            return
        self.asked += 1
        said = self.say(self.asked, request)
        if isinstance(said, str):
            yield deltas.text(0, said)
            return
        for at, (tool, arguments) in enumerate(said):
            yield deltas.call(at, encode(arguments).decode(), f"call_{self.asked}_{at}", tool)

    def route(self, model: str = "it") -> Route:
        """Give a route to this worker."""
        return Route(self, "worker", model, {"provider": "worker", "model": model}, context_window=self.window)


def working(worker: Worker) -> Plugin:
    """Make a plugin that lets `worker/…` resolve to this worker."""

    @plugin(name="worker", requires=(Models,))
    async def body(ctx: Context) -> AsyncIterator[None]:
        """Brings a model that works."""
        ctx.at_end(ctx[Models].add_provider("worker", worker.route))
        ctx.at_end(ctx[Models].add_encoder(worker))
        yield

    return body


@asynccontextmanager
async def workshop(
    worker: Worker,
    tools: Iterable[Tool] = (),
    plugins: Iterable[Plugin] = (),
    store: str = "memory:",
    config: str = "",
    bare: str = BARE,
) -> AsyncIterator[Harness]:
    """Give a harness whose model is this worker."""
    given = [working(worker), offering(tools), *plugins]
    async with Harness(Config.parse(bare + config), store, given) as harness:
        yield harness
