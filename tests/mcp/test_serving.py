"""Everlog's own server, driven by the official client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import EVERLOG, Cli
from tests.mcp.test_client import PEER, toml

mcp = pytest.importorskip("mcp", reason="the optional package mcp is not installed")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


async def told(client: Any, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    return json.loads(result.content[0].text)


async def test_sessions_are_listed_searched_shown_and_verified(cli: Cli) -> None:
    made = cli.ran("- call: {name: glob, arguments: {pattern: '*'}}\n- There is nothing here.", "look around")
    id = made["session"]
    server = mcp.StdioServerParameters(command=str(EVERLOG), args=["mcp", "serve"], env=cli.environment)
    async with mcp.Client(server) as client:
        offered = (await client.list_tools()).tools
        assert {tool.name for tool in offered} == {
            "list_sessions", "search_sessions", "show_session", "session_steps", "session_request", "verify_session",
        }  # fmt: skip
        assert all(tool.annotations.read_only_hint for tool in offered)
        [listed] = await told(client, "list_sessions")
        assert listed["id"] == id
        assert [one["session"] for one in await told(client, "search_sessions", words="nothing here")] == [id]
        shown = await told(client, "show_session", id=id)
        assert "look around" in json.dumps(shown["lines"])
        steps = await told(client, "session_steps", id=id)
        assert [step["calls"][0]["name"] for step in steps if step["calls"]] == ["glob"]
        assert "look around" in json.dumps(await told(client, "session_request", id=id, turn=1, step=2))
        assert (await told(client, "verify_session", id=id))["sound"] is True
        missing = await client.call_tool("show_session", {"id": "nobody"})
        assert missing.is_error
    assert cli("sessions", "--json").json[0]["events"] == listed["events"]


def test_servers_are_listed_and_tried(cli: Cli) -> None:
    cli.config.write_text(toml(PEER) + toml(["no-such-program"], "restarts = 0", "broken"))
    assert "mcp_server.py" in cli("mcp", "list").out
    assert "add" in cli("mcp", "test", "peer", "--json").json["tools"]
    broken = cli("mcp", "test", "broken")
    assert (broken.code, "Traceback" in broken.err) == (1, False)
    assert cli("mcp", "test", "other").code == 2
