"""Servers that nobody of this project wrote, used through an agent: one of PyPI and one of npm."""

from __future__ import annotations

import asyncio
import sys

import pytest
from tests.agent.stage import call, payloads
from tests.mcp.servers import results, text, toml, worked
from tests.peers import node

from everlog.session.messages import Image


async def test_a_server_from_pypi() -> None:
    pytest.importorskip("mcp_server_time", reason="mcp-server-time is not installed")
    asks = [
        call("mcp__time__get_current_time", timezone="Asia/Shanghai"),
        call("mcp__time__convert_time", source_timezone="Europe/Paris", time="12:00", target_timezone="Asia/Tokyo"),
        call("mcp__time__get_current_time", timezone="Nowhere/At_All"),
        "It is late.",
    ]
    now, converted, failed = await results(asks, toml([sys.executable, "-m", "mcp_server_time"], name="time"))
    assert (now.error, "Asia/Shanghai" in text(now)) == (None, True)
    assert (converted.error, "Asia/Tokyo" in text(converted)) == (None, True)
    assert failed.error is not None


async def test_a_server_from_npm() -> None:
    index = await asyncio.to_thread(node.module, "@modelcontextprotocol/server-everything", "dist/index.js")
    asks = [
        call("mcp__everything__echo", message="hello over there"),
        call("mcp__everything__get-tiny-image"),
        call("mcp__everything__get-structured-content", location="Chicago"),
        call("mcp__everything__no-such-tool"),
        "Done.",
    ]
    async with worked(asks, toml([*node.node(), str(index)], name="everything")) as (_, agent):
        echoed, pictured, structured, unknown = payloads(agent.session, "tool/result")
        assert "hello over there" in text(echoed)
        assert any(isinstance(block, Image) for block in pictured.message.result.content)
        assert "temperature" in structured.meta["structured"]
        assert unknown.error.code == "UNKNOWN_TOOL"
