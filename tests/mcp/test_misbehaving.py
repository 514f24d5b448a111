"""Servers that die, hang, refuse, or tell nonsense harm neither an agent nor its log."""

from __future__ import annotations

import asyncio
import sys

import pytest
from tests.agent.stage import MODEL, call, endings, payloads, until
from tests.mcp.servers import BARE_PEER, connection, reasons, results, stage, text, told, toml, worked

from everlog import Harness
from everlog.mcp import connection as connecting
from everlog.mcp import wire
from everlog.mcp.plugin import McpServers

ONCE = "restarts = 0"


async def test_a_server_that_dies_fails_the_call_and_takes_its_tools_with_it() -> None:
    async with worked([call("mcp__peer__die"), "Gone."], toml(BARE_PEER, ONCE)) as (harness, agent):
        [died] = payloads(agent.session, "tool/result")
        assert died.error.code == "MCP_SERVER_GONE"
        assert "may have taken effect" in text(died)
        assert "no longer available: mcp__peer__add" in told(agent.session)[0]
        assert reasons(agent.session) == ["initial", "change"]
        assert endings(agent.session) == ["completed"]
        await until(lambda: connection(harness).given_up)
        assert "dying on purpose" in (connection(harness).failure or "")


async def test_a_server_that_died_is_started_again_and_the_model_told() -> None:
    asks = [call("mcp__peer__die"), "Gone.", call("mcp__peer__add", a=1, b=1), "Two."]
    async with worked(asks, toml(BARE_PEER)) as (harness, agent):
        await until(lambda: connection(harness).is_up)
        agent.followup("again")
        await agent.when_idle()
        _, added = payloads(agent.session, "tool/result")
        assert text(added) == "2"
        assert connection(harness).failure is None


async def test_a_server_that_dies_each_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "_FIRST_PAUSE", 0.01)
    table = toml([sys.executable, "-c", 'import sys; sys.exit("no such thing")'], "restarts = 2")
    async with stage(["Fine."], table) as harness, await harness.agents.create(MODEL) as agent:
        agent.followup("go")
        await agent.when_idle()
        assert endings(agent.session) == ["completed"]
        await until(lambda: connection(harness).given_up)
        assert "no such thing" in (connection(harness).failure or "")


async def test_a_program_that_is_not_there_stops_nobody() -> None:
    async with stage([], toml(["no-such-program"], ONCE)) as harness:
        assert "no-such-program" in (connection(harness).failure or "")


async def test_a_server_that_says_nothing_is_waited_for_no_longer_than_its_time() -> None:
    async with stage([], toml([*BARE_PEER, "mute"], f"start_timeout = 0.5\n{ONCE}")) as harness:
        await until(lambda: connection(harness).given_up)
        assert "within 0.5 seconds" in (connection(harness).failure or "")


async def test_a_server_that_ends_when_it_has_told_its_tools_offers_none() -> None:
    async with stage([], toml([*BARE_PEER, "brief"], ONCE)) as harness:
        await until(lambda: connection(harness).given_up)
        assert harness.kernel[McpServers]["peer"].tools == []
        assert connection(harness).failure == "it ended"


async def test_a_call_that_takes_too_long_ends_and_the_server_goes_on() -> None:
    async with worked([call("mcp__peer__wait"), "Done."], toml(BARE_PEER, "timeout = 1")) as (harness, agent):
        [waited] = payloads(agent.session, "tool/result")
        assert waited.error.code == "TOOL_TIMEOUT"
        assert "notifications/cancelled" in await heard_by(harness)


async def heard_by(harness: Harness) -> str:
    """Give what the server heard so far, however long it takes to say so."""
    line = connection(harness)._line
    assert line is not None
    return str(await line.ask("tools/call", {"name": "heard"}))


async def test_a_server_that_hangs_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_PING_TIMEOUT", 0.2)
    table = toml(BARE_PEER, f"timeout = 1\n{ONCE}")
    async with worked([call("mcp__peer__block"), "Done."], table) as (harness, agent):
        [hung] = payloads(agent.session, "tool/result")
        assert hung.error.code == "TOOL_TIMEOUT"
        assert "no longer available: mcp__peer__add" in told(agent.session)[0]
        await until(lambda: connection(harness).given_up)
        assert connection(harness).failure == "it stopped answering"


async def test_a_server_that_hangs_while_nothing_is_called_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage([], toml(BARE_PEER, f"ping = 0.1\n{ONCE}")) as harness:
        one = connection(harness)
        while "ping" not in await heard_by(harness):  # noqa: ASYNC110 - it has no event of its own
            await asyncio.sleep(0.05)
        assert one.is_up
        monkeypatch.setattr(wire, "_PING_TIMEOUT", 0.2)
        one._line._dispatcher.send_raw_request = _never  # what it is asked from now on does not reach it
        await until(lambda: one.given_up)
        assert one.failure == "it stopped answering"


async def _never(*_: object) -> None:
    await asyncio.sleep(3600)


async def test_a_cancelled_call_is_cancelled_at_the_server() -> None:
    asks = [call("mcp__peer__wait"), "Done."]
    async with stage(asks, toml(BARE_PEER)) as harness, await harness.agents.create(MODEL) as agent:
        agent.followup("go")
        await until(lambda: connection(harness)._calls == 1)
        agent.cancel()
        await agent.when_idle()
        [stopped] = payloads(agent.session, "tool/result")
        assert stopped.error.code == "TOOL_CANCELLED"
        assert "notifications/cancelled" in await heard_by(harness)


async def test_an_error_of_the_protocol_is_a_failed_call_of_a_server_that_lives() -> None:
    refused, added = await results(
        [call("mcp__peer__refuse"), call("mcp__peer__add", a=1, b=1), "Done."], toml(BARE_PEER)
    )
    assert (refused.error.code, "not today" in text(refused)) == ("MCP_ERROR", True)
    assert text(added) == "2"


async def test_half_of_a_surrogate_pair_is_replaced() -> None:
    [half] = await results([call("mcp__peer__half"), "Done."], toml(BARE_PEER))
    assert text(half) == "half of a pair: \ufffd."


async def test_a_huge_result_is_bounded_and_can_be_read_in_whole() -> None:
    async with worked([call("mcp__peer__huge"), "Done."], toml(BARE_PEER)) as (_, agent):
        [huge] = payloads(agent.session, "tool/result")
        assert len(text(huge)) < 51_000
        blob = text(huge).split("blob:")[1].split("`")[0]
        assert len(agent.session.blobs.get(blob)) == 300_000


async def test_tools_and_schemas_that_are_not_as_they_should_be_are_made_so_or_left_out() -> None:
    asks = [call("mcp__peer__fine"), call("mcp__peer__no-output"), "Done."]
    async with worked(asks, toml([*BARE_PEER, "odd"])) as (harness, agent):
        fine, structured = payloads(agent.session, "tool/result")
        assert text(fine) == "fine was called"
        assert (text(structured), structured.meta) == ("a text", {"structured": {"any": "thing"}})
        offered = {tool["name"]: tool for tool in payloads(agent.session, "request/header")[0].header.tools}
        assert len(offered) == len(harness.kernel[McpServers]["peer"].tools) == 13
        assert all(tool["parameters"]["type"] == "object" for tool in offered.values())
        assert offered["mcp__peer__fine"]["description"] == "Tool fine."


async def test_a_list_without_an_end_ends() -> None:
    async with stage([], toml([*BARE_PEER, "endless"])) as harness:
        assert len(harness.kernel[McpServers]["peer"].tools) == 100
