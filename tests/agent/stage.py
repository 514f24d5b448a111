"""A stage for agents: a harness with a scripted model and the tools that a test brings, on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from everlog.agent.seam import OwnedAgent
from everlog.harness import Harness
from everlog.kernel import Config, Context, Plugin, plugin
from everlog.llm.script import Answer, scripted
from everlog.session.log import Log
from everlog.tools.seam import Tool, Tools

OFF = '["builtin-tools", "retry", "facts", "told-permissions", "titles"]'
BARE = f'[plugins]\ndisable = {OFF}\n[permissions]\nmode = "full"\n'
"""Only the tools and the context that the test brings, and nobody is asked before they run."""

MODEL = "script/it"


@asynccontextmanager
async def stage(
    answers: Sequence[Answer],
    tools: Iterable[Tool] = (),
    plugins: Iterable[Plugin] = (),
    store: str = "memory:",
    pace_ms: int = 0,
    config: str = "",
) -> AsyncIterator[Harness]:
    """Give a harness whose model `script/it` gives these answers."""
    given = [scripted({"it": answers}, pace_ms), offering(tools), *plugins]
    async with Harness(Config.parse(BARE + config), store, given) as harness:
        yield harness


def offering(tools: Iterable[Tool]) -> Plugin:
    """Make a plugin that offers these tools."""

    @plugin(name="test-tools", requires=(Tools,))
    async def offered(ctx: Context) -> AsyncIterator[None]:
        """Offers the tools of a test."""
        for tool in tools:
            ctx[Tools].add(tool, ctx)
        yield

    return offered


async def told(harness: Harness, *texts: str) -> OwnedAgent:
    """Give an agent that has taken a turn for each text."""
    agent = await harness.agents.create(MODEL)
    for text in texts:
        agent.followup(text)
    await agent.when_idle()
    return agent


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Give the part of a scripted answer that calls a tool."""
    return {"call": {"name": name, "arguments": arguments}}


def types(log: Log, start: int = 0) -> list[str]:
    """Give the types of the events from a seq on."""
    return [event.type for event in log.events.between(start, log.next_seq)]


def payloads(log: Log, type: str) -> list[Any]:
    """Give the payloads of the events of one type."""
    return [event.data for event in log.events if event.type == type]


def endings(log: Log) -> list[str]:
    """Give the kind of each turn's end."""
    return [data.reason.kind for data in payloads(log, "turn/end")]


def said(log: Log) -> list[str]:
    """Give the model's view as `role: text`, results by their content; without the system prompt and facts."""
    shown = (m for m in log.messages() if m.role != "system" and m.source.get("plugin") != "facts")
    return [f"{m.role}: {m.text or _result(m)}" for m in shown]


def _result(message: Any) -> str:
    result = message.result
    return "".join(block.text for block in result.content) if result else f"{len(message.calls)} calls"


async def until(condition: Callable[[], bool]) -> None:
    """Return when a condition holds; it is looked at every few milliseconds."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.005)
