"""Everlog's own server, driven by the official client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import EVERLOG, Cli
from tests.mcp.servers import BARE_PEER, toml

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
        assert "nobody" in missing.content[0].text
        unasked = await client.call_tool("session_request", {"id": id, "turn": 7, "step": 1})
        assert "no request 7.1.1" in unasked.content[0].text
    assert cli("sessions", "--json").json[0]["events"] == listed["events"]


def test_servers_are_listed_and_tried(cli: Cli) -> None:
    cli.config.write_text(toml(BARE_PEER) + toml(["no-such-program"], "restarts = 0", "broken"))
    assert [row["name"] for row in cli("mcp", "list", "--json").json] == ["peer", "broken"]
    assert "bare_mcp_server.py" in cli("mcp", "list").out
    tried = cli("mcp", "test", "peer", "--json")
    assert ({tool["name"]: tool["effects"] for tool in tried.json["tools"]}["mcp__peer__add"], tried.err) == (
        "mutating",
        "",
    )
    assert "mcp__peer__add" in cli("mcp", "test", "peer").out
    broken = cli("mcp", "test", "broken")
    assert (broken.code, broken.err.count("\n"), "no-such-program" in broken.err) == (1, 1, True)
    assert cli("mcp", "test", "other").code == 2


def test_a_projects_servers_are_listed_as_not_started(cli: Cli) -> None:
    (cli.work / "everlog.toml").write_text(toml(BARE_PEER))
    alone = {"EVERLOG_CONFIG": "", "XDG_CONFIG_HOME": str(cli.work.parent / "none")}
    assert cli("mcp", "list", "--json", env=alone).json == [{"name": "peer", "by": None, "place": None, "used": False}]
    assert "not started" in cli("mcp", "list", env=alone).out
    assert cli("mcp", "test", "peer", env=alone).code == 2
    found = {row["subject"]: row for row in cli("doctor", "--json", env=alone).json}
    assert found["mcp server peer"]["state"] == "missing"


def test_doctor_tells_which_servers_answer(cli: Cli) -> None:
    cli.config.write_text(toml(BARE_PEER) + toml(["no-such-program"], "restarts = 0", "broken"))
    done = cli("doctor", "--json")
    found = {row["subject"]: row for row in done.json}
    assert found["mcp server peer"]["state"] == "ok"
    assert "16 tools" in found["mcp server peer"]["detail"]
    assert (found["mcp server broken"]["state"], done.code, done.err) == ("broken", 1, "")
