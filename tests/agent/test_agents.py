"""Agents are made whole or not at all, and ended in order by whoever owns them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.agent.stage import MODEL, call, endings, payloads, said, stage, told, types, until

from everlog.agent.seam import Agent, AgentEnded, AgentNotFound, Agents, NoLoop
from everlog.errors import EverlogError
from everlog.harness import Harness, HarnessIncomplete
from everlog.kernel import Config, Context, plugin
from everlog.llm.seam import UnknownModel
from everlog.prompt.seam import Prompt, Section
from everlog.store.seam import SessionBusy, SessionNotFound
from everlog.tools.declare import tool
from everlog.tools.seam import Tools


@tool
async def poke() -> str:
    """Change something."""
    return "poked"


async def ids(harness: Harness) -> list[str]:
    return [summary.id for summary in await harness.store.list()]


async def test_an_agent_is_known_from_its_making_to_its_end() -> None:
    async with stage(["a"]) as harness:
        async with await harness.agents.create(MODEL, cwd=".") as agent:
            assert harness.agents.get(agent.id) is agent
            assert harness.agents.list() == [agent]
            assert agent.session.header.cwd is not None
            assert agent.model == MODEL
        assert harness.agents.list() == []
        with pytest.raises(AgentNotFound):
            harness.agents.get(agent.id)
        with pytest.raises(AgentEnded):
            agent.followup("too late")


async def test_a_header_may_say_more() -> None:
    async with stage([]) as harness:
        agent = await harness.agents.create(MODEL, header={"id": "mine", "origin": "subagent", "delegationDepth": 1})
        assert (agent.id, agent.session.header.origin, agent.session.header.delegation_depth) == ("mine", "subagent", 1)


async def test_an_unknown_model_leaves_no_session() -> None:
    async with stage([]) as harness:
        with pytest.raises(UnknownModel):
            await harness.agents.create("script/nobody")
        with pytest.raises(UnknownModel):
            await harness.agents.create("no-slash")
        assert await ids(harness) == []


async def test_a_failed_set_up_publishes_nothing_and_leaves_no_session() -> None:
    seen: list[Agent] = []

    async def fail(agent: Agent) -> None:
        seen.append(agent)
        agent.scope[Prompt].add(Section("late", "Be late."), agent.scope)
        agent.followup("never entered")
        raise RuntimeError("not today")

    async with stage(["a"]) as harness:
        with pytest.raises(RuntimeError, match="not today"):
            await harness.agents.create(MODEL, set_up=fail)
        assert harness.agents.list() == []
        assert await ids(harness) == []
        assert seen[0].scope.closed
        with pytest.raises(AgentEnded):
            seen[0].wake()


async def test_a_set_up_is_done_before_anybody_sees_the_agent_or_a_turn_begins() -> None:
    async with stage(["a"]) as harness:

        async def prepare(agent: Agent) -> None:
            agent.scope[Tools].add(poke, agent.scope)
            agent.followup("go")
            await asyncio.sleep(0.05)
            assert harness.agents.list() == []
            assert "turn/start" not in types(agent.session)

        agent = await harness.agents.create(MODEL, set_up=prepare)
        await agent.when_idle()
        [header] = payloads(agent.session, "request/header")
        assert [offered["name"] for offered in header.header.tools] == ["poke"]
        assert said(agent.session) == ["user: go", "assistant: a"]
        other = await told(harness, "hi")
        assert payloads(other.session, "request/header")[0].header.tools is None


async def test_disposal_ends_the_running_turn_and_gives_the_session_back() -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}], "b"]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        agent.followup("two")
        await until(lambda: "assistant/chunk" in types(agent.session))
        with pytest.raises(SessionBusy):
            await harness.agents.resume(agent.id)
        await asyncio.gather(agent.dispose(), agent.dispose())
        [end] = payloads(agent.session, "turn/end")
        assert end.reason.reason == {"kind": "disposed"}
        async with await harness.agents.resume(agent.id) as again:
            assert said(again.session) == ["user: one", "assistant: a"]
            assert not again.running
            again.wake()
            await again.when_idle()
            assert said(again.session)[-2:] == ["user: two", "assistant: b"]


async def test_unloading_the_loop_ends_its_agents_one_after_the_other() -> None:
    slow = [{"text": "a"}, {"pause": 60_000}]
    async with stage([slow]) as harness:
        agents = [await harness.agents.create(MODEL) for _ in range(3)]
        for agent in agents:
            agent.followup("go")
        await until(lambda: all("assistant/chunk" in types(agent.session) for agent in agents))
        registry = harness.agents
        await harness.kernel.unload("loop")
        assert [endings(agent.session) for agent in agents] == [["aborted"]] * 3
        assert registry.list() == []
        with pytest.raises(NoLoop):
            await registry.create(MODEL)
        for agent in agents:
            async with await harness.store.open(agent.id, "write") as session:
                assert not session.ledger.turns.is_open


async def test_an_agent_that_is_set_up_while_its_loop_goes_is_not_published() -> None:
    async with stage(["a"]) as harness:
        reached, gate = asyncio.Event(), asyncio.Event()

        async def wait(agent: Agent) -> None:
            reached.set()
            await gate.wait()

        registry = harness.agents
        making = asyncio.create_task(registry.create(MODEL, set_up=wait))
        await reached.wait()
        await harness.kernel.unload("loop")
        gate.set()
        with pytest.raises(EverlogError):
            await making
        assert registry.list() == []
        assert await ids(harness) == []


@pytest.mark.parametrize("way", ["create", "open"])
async def test_a_session_that_opens_while_the_loop_goes_is_given_back(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(["a"]) as harness:
        async with await harness.agents.create(MODEL) as agent:
            pass
        reached, gate = asyncio.Event(), asyncio.Event()
        opened = getattr(harness.store, way)

        async def slowly(*given: object, **more: object) -> object:
            session = await opened(*given, **more)
            reached.set()
            await gate.wait()
            return session

        with monkeypatch.context() as patched:
            patched.setattr(harness.store, way, slowly)
            agents = harness.agents
            making = agents.create(MODEL) if way == "create" else agents.resume(agent.id, model=MODEL)
            made = asyncio.ensure_future(making)
            await reached.wait()
            await harness.kernel.unload("loop")
            gate.set()
            with pytest.raises(NoLoop):
                await made
        assert await ids(harness) == [agent.id]
        async with await harness.store.open(agent.id, "write") as session:
            assert session.id == agent.id


async def test_the_loop_comes_back_with_what_it_requires() -> None:
    async with stage(["a", "b"]) as harness:
        agent = await told(harness, "one")
        await harness.kernel.unload("prompt")
        assert harness.agents.list() == []
        from everlog.prompt.registry import prompt

        await harness.kernel.load(prompt)
        async with await harness.agents.resume(agent.id) as again:
            again.followup("two")
            await again.when_idle()
            assert said(again.session)[-1] == "assistant: b"


async def test_an_unknown_session_is_told() -> None:
    async with stage([]) as harness:
        with pytest.raises(SessionNotFound):
            await harness.agents.resume("nobody")


async def test_a_harness_without_its_loop_says_what_is_missing() -> None:
    with pytest.raises(HarnessIncomplete, match=r"loop.*waits for Prompt"):
        async with Harness(Config.parse('[plugins]\ndisable = ["prompt"]\n'), "memory:"):
            raise AssertionError("entered")


async def test_a_plugin_that_is_given_takes_the_place_of_the_found_one() -> None:
    @plugin(name="my-prompt", provides=(Prompt,))
    async def silent(ctx: Context) -> AsyncIterator[None]:
        """Says nothing."""

        class Silent(Prompt):
            def add(self, section, scope=None):  # type: ignore[no-untyped-def]
                raise NotImplementedError

            def render(self, scope, header):  # type: ignore[no-untyped-def]
                return ""

        ctx.provide(Prompt, Silent())
        yield

    async with stage(["a"], plugins=[silent]) as harness:
        agent = await told(harness, "go")
        assert [message.role for message in agent.session.messages()] == ["user", "assistant"]


async def test_agents_run_side_by_side() -> None:
    met = asyncio.Barrier(5)

    @tool(effects="read-only")
    async def meet() -> str:
        """Wait for the others."""
        await met.wait()
        return "met"

    async with stage([call("meet"), "a"], [meet]) as harness:
        agents = [await harness.agents.create(MODEL) for _ in range(5)]
        for agent in agents:
            agent.followup("go")
        async with asyncio.timeout(60):
            for agent in agents:
                await agent.when_idle()
        assert [said(agent.session)[-2:] for agent in agents] == [["user: met", "assistant: a"]] * 5
        assert harness.kernel[Agents].list() == agents
