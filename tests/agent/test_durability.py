"""Nothing is dispatched or executed before it is durable; a store that cannot write is waited for, in plain sight."""

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.agent.stage import MODEL, call, endings, said, stage, told, types, until
from tests.agent.test_loop import listening

from everlog.agent.seam import DISPATCH, TROUBLE, Agent, AgentEnded, Outgoing
from everlog.session.records import Delta
from everlog.session.rules import check
from everlog.store.seam import DurableSession, LeaseLost, WriteFailed
from everlog.tools.declare import tool
from everlog.tools.seam import ToolContext


@contextmanager
def failing(agent: Agent, error: Callable[[], Exception]) -> Iterator[None]:
    """Have every write of an agent's session fail, for as long as the block lasts."""
    session = agent.session
    assert isinstance(session, DurableSession)
    lease = session._writing.lease

    def fail(*_: object) -> None:
        raise error()

    held = type(lease).append, type(lease).append_synced
    type(lease).append = type(lease).append_synced = fail  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        type(lease).append, type(lease).append_synced = held  # type: ignore[method-assign]


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/sessions.db"


async def test_a_request_is_durable_before_it_is_dispatched_and_a_call_before_it_runs(store: str) -> None:
    durable: dict[str, int] = {}

    @tool
    async def poke(context: ToolContext) -> str:
        """Change something."""
        assert isinstance(context.session, DurableSession)
        durable["tool/call"] = context.session.durable_seq
        return "poked"

    async def look(
        next: Callable[[Outgoing], Awaitable[AsyncIterator[Delta]]], outgoing: Outgoing
    ) -> AsyncIterator[Delta]:
        session = outgoing.agent.session
        assert isinstance(session, DurableSession)
        durable["request/sent"] = session.durable_seq
        assert session.durable_seq == session.next_seq
        return await next(outgoing)

    async with stage([call("poke"), "done"], [poke], [listening(DISPATCH, look)], store) as harness:
        agent = await told(harness, "go")
        [taken] = [event.seq for event in agent.session.events if event.type == "tool/call"]
        assert durable["tool/call"] > taken
        assert isinstance(agent.session, DurableSession)
        assert agent.session.durable_seq == agent.session.next_seq


async def test_a_full_disk_is_waited_for_in_plain_sight_and_nothing_is_dropped(store: str) -> None:
    troubles: list[Exception | None] = []
    async with stage(["fine"], store=store) as harness:
        agent = await harness.agents.create(MODEL)
        agent.scope.on(TROUBLE, lambda _, trouble: troubles.append(trouble))
        with failing(agent, no_space):
            agent.followup("go")
            await until(lambda: agent.trouble is not None)
            await asyncio.sleep(0.3)
            assert "assistant/chunk" not in types(agent.session)
            assert agent.running
            assert isinstance(agent.trouble, WriteFailed)
            assert "No space left" in str(agent.trouble)
        await agent.when_idle()
        assert agent.trouble is None
        assert said(agent.session) == ["user: go", "assistant: fine"]
        assert [type(trouble) for trouble in troubles] == [WriteFailed, type(None)]
        async with await harness.store.open(agent.id, "read") as log:
            assert log.next_seq == agent.session.next_seq


async def test_the_wait_for_the_store_can_be_cancelled(store: str) -> None:
    async with stage(["never", "fine"], store=store) as harness:
        agent = await harness.agents.create(MODEL)
        with failing(agent, no_space):
            agent.followup("go")
            await until(lambda: agent.trouble is not None)
            agent.cancel()
            await until(lambda: not agent.session.ledger.turns.is_open)
            assert agent.running  # the turn's own end is not durable yet
            agent.cancel()
            await agent.when_idle()
        assert endings(agent.session) == ["aborted"]
        assert types(agent.session)[-3:] == ["assistant/attempt", "step/end", "turn/end"]
        agent.followup("again")
        await agent.when_idle()
        assert endings(agent.session) == ["aborted", "completed"]
        assert check(agent.session) == []


async def test_the_evidence_of_a_tool_is_kept_while_the_store_fails(store: str) -> None:
    ran: list[str] = []
    finish = asyncio.Event()

    @tool
    async def poke() -> str:
        """Change something."""
        ran.append("poke")
        await finish.wait()
        return "poked"

    async with stage([call("poke"), "done"], [poke], store=store) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: bool(ran))
        with failing(agent, no_space):
            finish.set()
            await until(lambda: agent.trouble is not None)
            assert "tool/result" in types(agent.session)
            assert types(agent.session).count("assistant/message") == 1
        await agent.when_idle()
        assert ran == ["poke"]
        assert said(agent.session)[-1] == "assistant: done"


async def test_a_lost_lease_ends_the_agent(store: str) -> None:
    async with stage(["never"], store=store) as harness:
        agent = await harness.agents.create(MODEL)
        with failing(agent, lambda: LeaseLost(agent.id, "another host took it over")):
            agent.followup("go")
            with pytest.raises(LeaseLost):
                await agent.when_idle()
        assert isinstance(agent.trouble, LeaseLost)
        assert "assistant/chunk" not in types(agent.session)
        await until(lambda: harness.agents.list() == [])
        with pytest.raises(AgentEnded):
            agent.followup("again")
        await agent.dispose()


async def test_a_lease_that_is_lost_while_idle_ends_the_agent(store: str) -> None:
    async with stage(["fine"], store=store) as harness:
        agent = await told(harness, "go")
        with failing(agent, lambda: LeaseLost(agent.id, "another host took it over")):
            agent.inject("by the way")
            await until(lambda: agent.trouble is not None)
        await until(lambda: harness.agents.list() == [])
        with pytest.raises(LeaseLost):
            await agent.when_idle()


async def test_an_agent_that_cannot_be_made_durable_can_be_ended_again(store: str) -> None:
    async with stage(["fine"], store=store) as harness:
        agent = await told(harness, "go")
        with failing(agent, no_space):
            agent.inject("by the way")
            with pytest.raises(WriteFailed):
                await agent.dispose()
            assert harness.agents.list() == []
        await until(lambda: agent.trouble is None)  # the store catches up by itself
        await agent.dispose()
        async with await harness.agents.resume(agent.id) as again:
            assert len(again.session.project("inbox")) == 1
