"""Tools of MCP servers are ordinary tools of agents, whatever the servers do."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.agent.stage import BARE, MODEL, call, payloads, until
from tests.peers import node

from everlog import Harness
from everlog.kernel import Config
from everlog.llm.script import Answer, scripted
from everlog.mcp.plugin import McpServers

pytest.importorskip("mcp", reason="the optional package mcp is not installed")
PEER = [sys.executable, str(Path(__file__).parents[1] / "peers" / "mcp_server.py")]


def toml(command: Sequence[str], more: str = "", name: str = "peer") -> str:
    words = ", ".join(f"'{word}'" for word in command)
    return f"[mcp.servers.{name}]\ncommand = [{words}]\n{more}\n"


@asynccontextmanager
async def stage(answers: Sequence[Answer], table: str, config: str = BARE) -> AsyncIterator[Harness]:
    async with Harness(Config.parse(config + table), "memory:", [scripted({"it": answers})]) as harness:
        yield harness


async def results(harness: Harness) -> list[Any]:
    async with await harness.agents.create(MODEL) as agent:
        agent.followup("go")
        await agent.when_idle()
        return payloads(agent.session, "tool/result")


def text(result: Any) -> str:
    return "".join(block.text for block in result.message.result.content)


async def test_a_tool_of_a_server_is_called_like_any_other() -> None:
    asks = [call("mcp__peer__add", a=2, b=3), call("mcp__peer__fail"), call("mcp__peer__picture"), "Done."]
    async with stage(asks, toml(PEER)) as harness:
        added, failed, pictured = await results(harness)
        assert (text(added), added.error, added.meta) == ("5", None, {"structured": {"result": 5}})
        assert failed.error.code == "MCP_TOOL_ERROR"
        assert pictured.message.result.content[0].media_type == "image/png"


async def test_a_call_is_asked_about_unless_the_user_says_that_it_changes_nothing() -> None:
    config = BARE.replace('mode = "full"', 'mode = "ask"')
    asks = [call("mcp__peer__add", a=2, b=3), "Done."]
    async with stage(asks, toml(PEER), config) as harness:
        [refused] = await results(harness)
        assert refused.error.code == "PERMISSION_DENIED"
    async with stage(asks, toml(PEER, "read_only = ['add']"), config) as harness:
        [permitted] = await results(harness)
        assert permitted.error is None


async def test_a_server_gets_no_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    asks = [call("mcp__peer__environment"), "Done."]
    async with stage(asks, toml(PEER, "env = {MINE = 'x'}")) as harness:
        [told] = await results(harness)
        assert "MINE" in text(told).split()
        assert "OPENAI_API_KEY" not in text(told)


async def test_a_server_that_dies_fails_the_call_and_is_started_again() -> None:
    async with stage([call("mcp__peer__die"), "Gone."], toml(PEER, "ping = 1")) as harness:
        [died] = await results(harness)
        assert died.error.code == "MCP_SERVER_GONE"
        connection = harness.kernel[McpServers]["peer"]
        await until(lambda: connection.is_up)
        again = await connection.call("add", {"a": 1, "b": 1})
        assert again.content[0].text == "2"


async def test_a_call_that_hangs_ends_with_its_time_and_the_server_goes_on() -> None:
    asks = [call("mcp__peer__hang"), call("mcp__peer__add", a=1, b=1), "Done."]
    async with stage(asks, toml(PEER, "timeout = 2")) as harness:
        hung, added = await results(harness)
        assert hung.error.code == "TOOL_TIMEOUT"
        assert text(added) == "2"


async def test_a_changed_list_is_offered_and_the_model_told() -> None:
    asks = [call("mcp__peer__grow"), call("mcp__peer__add", a=1, b=1), call("mcp__peer__extra"), "Done."]
    async with stage(asks, toml(PEER)) as harness, await harness.agents.create(MODEL) as agent:
        agent.followup("go")
        await agent.when_idle()
        assert [p.error for p in payloads(agent.session, "tool/result")] == [None, None, None]
        told = [p.message.text for p in payloads(agent.session, "developer/message")]
        assert any("mcp__peer__extra" in one for one in told)


async def test_a_server_that_cannot_start_says_why_and_stops_nobody() -> None:
    table = toml([sys.executable, "-c", 'import sys; sys.exit("no such thing")'], "restarts = 0")
    async with stage(["Fine."], table) as harness:
        assert await results(harness) == []
        assert "no such thing" in (harness.kernel[McpServers]["peer"].failure or "")


async def test_a_server_is_reached_over_http() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with subprocess.Popen([*PEER, str(port)], stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220
        try:
            async with asyncio.timeout(60):
                while _refused(port):  # noqa: ASYNC110 - a server that starts has no event of its own
                    await asyncio.sleep(0.05)
            table = f'[mcp.servers.peer]\nurl = "http://127.0.0.1:{port}/mcp"\n'
            async with stage([call("mcp__peer__add", a=2, b=3), "Done."], table) as harness:
                [added] = await results(harness)
                assert text(added) == "5"
        finally:
            process.kill()


def _refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


async def test_a_projects_own_file_starts_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "everlog.toml").write_text(toml(PEER))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    environ = {name: value for name, value in os.environ.items() if name != "EVERLOG_CONFIG"}
    config = Config.load(tmp_path, environ)
    async with Harness(config, "memory:", [scripted({"it": ["Fine."]})]) as harness:
        assert dict(harness.kernel[McpServers]) == {}


async def test_a_server_from_pypi() -> None:
    pytest.importorskip("mcp_server_time", reason="mcp-server-time is not installed")
    asks = [call("mcp__time__get_current_time", timezone="Asia/Shanghai"), "It is late."]
    table = toml([sys.executable, "-m", "mcp_server_time"], name="time")
    async with stage(asks, table) as harness:
        [told] = await results(harness)
        assert told.error is None
        assert "Asia/Shanghai" in text(told)


async def test_a_server_from_npm() -> None:
    index = await asyncio.to_thread(node.module, "@modelcontextprotocol/server-everything", "dist/index.js")
    asks = [call("mcp__everything__echo", message="hello over there"), "Done."]
    async with stage(asks, toml([*node.node(), str(index)], name="everything")) as harness:
        [told] = await results(harness)
        assert "hello over there" in text(told)
