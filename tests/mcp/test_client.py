"""Tools of MCP servers are ordinary tools of agents."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.agent.stage import BARE, MODEL, call, payloads, until
from tests.mcp.servers import BARE_PEER, PEER, connection, reasons, results, stage, text, told, toml, worked

from everlog import Harness
from everlog.kernel import Config, ConfigError, Status
from everlog.llm.script import scripted
from everlog.mcp.plugin import McpServers
from everlog.mcp.settings import servers

pytest.importorskip("mcp", reason="the optional package mcp is not installed")

ASKING = BARE.replace('mode = "full"', 'mode = "ask"')
READ_ONLY = BARE.replace('mode = "full"', 'mode = "read-only"')


async def test_a_tool_of_a_server_is_called_like_any_other() -> None:
    asks = [call("mcp__peer__add", a=2, b=3), call("mcp__peer__fail"), call("mcp__peer__picture"), "Done."]
    added, failed, pictured = await results(asks, toml(PEER))
    assert (text(added), added.error, added.meta) == ("5", None, {"structured": {"result": 5}})
    assert failed.error.code == "MCP_TOOL_ERROR"
    assert pictured.message.result.content[0].media_type == "image/png"


async def test_what_was_sent_is_derived_again_from_the_log_with_a_servers_tools_in_it() -> None:
    async with worked([call("mcp__peer__contents"), "Done."], toml(BARE_PEER)) as (_, agent):
        [header] = payloads(agent.session, "request/header")
        names = [tool["name"] for tool in header.header.tools]
        assert "mcp__peer__add" in names
        assert names == sorted(names)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", True),
        ("read_only = ['reads']", False),
        ("trust_annotations = true", False),
    ],
)
async def test_a_call_is_asked_about_unless_the_user_vouches_that_it_changes_nothing(words: str, asked: bool) -> None:
    [result] = await results([call("mcp__peer__reads"), "Done."], toml(BARE_PEER, words), ASKING)
    assert (result.error is not None and result.error.code == "PERMISSION_DENIED") is asked


async def test_a_server_that_is_trusted_is_still_asked_about_where_it_reaches_out_or_changes_things() -> None:
    asks = [call("mcp__peer__looks_up"), call("mcp__peer__add", a=1, b=1), "Done."]
    found = await results(asks, toml(BARE_PEER, "trust_annotations = true"), ASKING)
    assert [result.error.code for result in found] == ["PERMISSION_DENIED"] * 2


async def test_the_read_only_mode_takes_no_servers_word_for_it() -> None:
    [result] = await results([call("mcp__peer__reads"), "Done."], toml(BARE_PEER), READ_ONLY)
    assert result.error.code == "PERMISSION_DENIED"


async def test_a_rule_permits_the_tools_of_a_server() -> None:
    config = ASKING + 'allow = ["mcp__peer__*"]\n'
    [result] = await results([call("mcp__peer__add", a=1, b=1), "Done."], toml(BARE_PEER), config)
    assert result.error is None


async def test_a_server_gets_no_keys_of_the_environment_but_those_that_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-one")
    monkeypatch.setenv("WEATHER_TOKEN", "secret-of-another")
    asks = [call("mcp__peer__environment"), "Done."]
    [result] = await results(asks, toml(BARE_PEER, "env = {MINE = 'x'}\npass_env = ['WEATHER_TOKEN', 'NOT_THERE']"))
    names = text(result).split()
    assert {"MINE", "WEATHER_TOKEN", "PATH"} <= set(names)
    assert {"OPENAI_API_KEY", "NOT_THERE"}.isdisjoint(names)


async def test_only_the_tools_that_are_wanted_are_offered() -> None:
    async with stage([], toml(BARE_PEER, "tools = ['add', 'nothing-of-the-name']")) as harness:
        assert harness.kernel[McpServers]["peer"].tools == ["mcp__peer__add"]


async def test_a_list_comes_in_pages() -> None:
    async with stage([], toml(BARE_PEER)) as harness:
        assert {"mcp__peer__add", "mcp__peer__drop"} <= set(harness.kernel[McpServers]["peer"].tools)


async def test_a_tool_that_comes_in_the_middle_of_a_turn_is_offered_at_the_next_step_and_the_model_told() -> None:
    asks = [call("mcp__peer__grow"), call("mcp__peer__extra"), "Done."]
    async with worked(asks, toml(BARE_PEER)) as (_, agent):
        assert [result.error for result in payloads(agent.session, "tool/result")] == [None, None]
        assert told(agent.session) == ["These tools are available from now on: mcp__peer__extra."]
        assert reasons(agent.session) == ["initial", "change"]


async def test_a_tool_that_goes_is_withdrawn_at_the_next_step_and_the_model_told() -> None:
    asks = [call("mcp__peer__drop"), call("mcp__peer__add", a=1, b=1), "Done."]
    async with worked(asks, toml(BARE_PEER)) as (_, agent):
        dropped, gone = payloads(agent.session, "tool/result")
        assert (dropped.error, gone.error.code) == (None, "UNKNOWN_TOOL")
        assert "no longer available: mcp__peer__add" in told(agent.session)[0]
        assert reasons(agent.session) == ["initial", "change"]


async def test_a_session_goes_on_without_the_server_that_it_began_with(tmp_path: Path) -> None:
    store, model = f"sqlite://{tmp_path}/s.db", scripted({"it": [call("mcp__peer__add", a=1, b=1), "Two.", "Still."]})
    with_it, without = Config.parse(BARE + toml(BARE_PEER)), Config.parse(BARE)
    async with Harness(with_it, store, [model]) as harness, await harness.agents.create(MODEL) as agent:
        agent.followup("go")
        await agent.when_idle()
    async with Harness(without, store, [model]) as harness, await harness.agents.resume(agent.id) as again:
        again.followup("and now?")
        await again.when_idle()
        assert "no longer available: mcp__peer__add" in told(again.session)[0]
        assert reasons(again.session) == ["initial", "resume"]


@contextmanager
def over_http(more: str = "") -> Iterator[str]:
    """Give the table of the SDK's server, over streamable HTTP."""
    with subprocess.Popen([*PEER, "http"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            url = f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
            yield f'[mcp.servers.peer]\nurl = "{url}"\nstart_timeout = 120\n{more}\n'
        finally:
            process.kill()


async def test_a_server_is_reached_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEER_TOKEN", "opened-by-this-1")
    asks = [call("mcp__peer__add", a=2, b=3), call("mcp__peer__headers"), "Done."]
    with over_http('token_env = "PEER_TOKEN"\nheaders = {"X-Mine" = "yes"}') as table:
        added, headers = await results(asks, table)
    assert text(added) == "5"
    assert "authorization=Bearer [value of PEER_TOKEN removed]" in text(headers)
    assert "x-mine=yes" in text(headers)


async def test_a_server_over_http_that_changes_its_list_or_ends_is_handled() -> None:
    asks = [call("mcp__peer__grow"), "Grown.", call("mcp__peer__extra"), call("mcp__peer__die"), "Gone."]
    with over_http("restarts = 0") as table:
        async with worked(asks, table) as (harness, agent):
            await until(lambda: "mcp__peer__extra" in harness.kernel[McpServers]["peer"].tools)
            agent.followup("on")
            await agent.when_idle()
            _, extra, died = payloads(agent.session, "tool/result")
            assert (text(extra), died.error.code) == ("extra", "MCP_SERVER_GONE")
            assert "no longer available" in told(agent.session)[-1]
            assert not connection(harness).is_up


async def test_a_token_that_is_not_there_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PEER_TOKEN", raising=False)
    table = '[mcp.servers.peer]\nurl = "http://127.0.0.1:1/mcp"\ntoken_env = "PEER_TOKEN"\nrestarts = 0\n'
    async with stage([], table) as harness:
        assert "PEER_TOKEN" in (connection(harness).failure or "")


async def test_without_the_optional_package_it_is_named_and_agents_work_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *of: None if name == "mcp" else find(name, *of))
    async with worked(["Fine."], toml(BARE_PEER)) as (harness, agent):
        [state] = [state for state in harness.kernel.states() if state.name == "mcp"]
        assert (state.status, "pip install 'everlog[mcp]'" in state.reason) == (Status.FAILED, True)
        assert agent.session.messages()[-1].text == "Fine."


async def test_a_projects_own_file_starts_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "everlog.toml").write_text(toml(PEER))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    environ = {name: value for name, value in os.environ.items() if name != "EVERLOG_CONFIG"}
    config = Config.load(tmp_path, environ)
    async with Harness(config, "memory:", [scripted({"it": ["Fine."]})]) as harness:
        assert dict(harness.kernel[McpServers]) == {}


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("x = 1", "unknown field"),
        ("timeout = 5", "name either `command`"),
        ("command = ['a']\nurl = 'http://b'", "name either `command`"),
        ("command = ['a']\ntimeout = 0", "timeout"),
        ("command = 'a'", "command"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_its_place(table: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        servers(Config.parse(f"[mcp.servers.peer]\n{table}\n"))
