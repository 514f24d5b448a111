"""A stage with MCP servers: a scripted model, live tools, and servers that behave or do not."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.agent.stage import BARE, MODEL, payloads

from everlog import Harness
from everlog.agent.seam import OwnedAgent
from everlog.kernel import Config
from everlog.llm.script import Answer, scripted
from everlog.mcp.connection import Connection
from everlog.mcp.plugin import McpServers
from everlog.session.log import Log
from everlog.session.messages import Text

_PEERS = Path(__file__).parents[1] / "peers"
PEER = [sys.executable, str(_PEERS / "mcp_server.py")]
"""A small server made with the official SDK."""
BARE_PEER = [sys.executable, str(_PEERS / "bare_mcp_server.py")]
"""One that can do what a sound server never does."""


def toml(command: Sequence[str], more: str = "", name: str = "peer") -> str:
    """Give the table of a server, which has all the time it needs to start unless something else is said."""
    words = ", ".join(f"'{word}'" for word in command)
    patient = "" if "start_timeout" in more else "start_timeout = 120\n"
    return f"[mcp.servers.{name}]\ncommand = [{words}]\n{patient}{more}\n"


@asynccontextmanager
async def stage(answers: Sequence[Answer], table: str, config: str = BARE) -> AsyncIterator[Harness]:
    """Give a harness with the servers of a table, whose model gives these answers."""
    async with Harness(Config.parse(config + table), "memory:", [scripted({"it": answers})]) as harness:
        yield harness


@asynccontextmanager
async def worked(
    answers: Sequence[Answer], table: str, config: str = BARE
) -> AsyncIterator[tuple[Harness, OwnedAgent]]:
    """Give a harness and an agent that has taken a turn."""
    async with stage(answers, table, config) as harness, await harness.agents.create(MODEL) as agent:
        agent.followup("go")
        await agent.when_idle()
        yield harness, agent


async def results(answers: Sequence[Answer], table: str, config: str = BARE) -> list[Any]:
    """Give the results of the calls of a turn."""
    async with worked(answers, table, config) as (_, agent):
        return payloads(agent.session, "tool/result")


def text(result: Any) -> str:
    """Give the text of a result."""
    return "".join(block.text for block in result.message.result.content if isinstance(block, Text))


def told(log: Log) -> list[str]:
    """Give what the log's developer messages say."""
    return [payload.message.text for payload in payloads(log, "developer/message")]


def reasons(log: Log) -> list[str]:
    """Give why each header was logged."""
    return [payload.reason for payload in payloads(log, "request/header")]


def connection(harness: Harness, name: str = "peer") -> Connection:
    return harness.kernel[McpServers][name].connection
