"""A resumed session goes on where its log ends, with what this process can do, and tells the model what changed."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.agent.stage import MODEL, call, payloads, said, stage, told, types

from everlog.agent.factory import ModelNeeded
from everlog.llm.script import Answer, script_route
from everlog.session.live import Session
from everlog.session.messages import Message, ToolCall, model_source, tool_message, user_message
from everlog.session.payloads import (
    ApprovalAsked,
    AssistantMessage,
    InboxItem,
    InboxSpliced,
    RequestHeaderEvent,
    RequestSent,
    StepStart,
    ToolCallEvent,
    ToolResultEvent,
    ToolSettled,
    TurnStart,
)
from everlog.session.rules import check
from everlog.store import open_store
from everlog.tools.declare import tool
from everlog.tools.seam import Tool, ToolContext, Verdict


@tool
async def poke() -> str:
    """Change something."""
    return "poked"


@tool(effects="read-only")
async def peek() -> str:
    """Look at something."""
    return "peeked"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/sessions.db"


async def test_a_resumed_session_has_the_same_id_and_log_and_the_next_seq_and_turn(store: str) -> None:
    async with stage(["a"], store=store) as harness:
        agent = await told(harness, "one")
        before = [event.to_json() for event in agent.session.events]
    async with stage(["a", "b"], store=store) as harness, await harness.agents.resume(agent.id) as again:
        assert again.session.next_seq == len(before)
        again.followup("two")
        await again.when_idle()
        assert [event.to_json() for event in again.session.events.between(0, len(before))] == before
        assert again.session.events[len(before)].type == "session/end-seed"
        assert [start.turn for start in payloads(again.session, "turn/start")] == [1, 2]
        assert [header.reason for header in payloads(again.session, "request/header")] == ["initial", "resume"]
        assert payloads(again.session, "request/header")[1].starts_series is None
        assert said(again.session) == ["user: one", "assistant: a", "user: two", "assistant: b"]
        assert types(again.session).count("system/message") == 1


async def test_opening_alone_adds_nothing(store: str) -> None:
    async with stage(["a"], store=store) as harness:
        agent = await told(harness, "one")
        events = agent.session.next_seq
    for _ in range(3):
        async with stage([], store=store) as harness, await harness.agents.resume(agent.id) as again:
            assert again.session.next_seq == events


async def test_a_tool_that_is_gone_is_not_offered_and_the_model_is_told(store: str) -> None:
    answers: Sequence[Answer] = [[call("poke"), call("peek")], "a", [call("poke")], "b"]
    async with stage(answers, [poke, peek], store=store) as harness:
        agent = await told(harness, "one")
    async with stage(answers, [peek], store=store) as harness, await harness.agents.resume(agent.id) as again:
        again.followup("two")
        await again.when_idle()
        lines = said(again.session)
        assert lines[2:4] == ["user: poked", "user: peeked"]  # what it did stays readable
        assert "developer: These tools are no longer available: poke." in lines[5]
        assert lines[6] == "user: two"
        assert "There is no tool 'poke'" in lines[8]
        offered = [[t["name"] for t in h.header.tools] for h in payloads(again.session, "request/header")]
        assert offered == [["peek", "poke"], ["peek"]]
        assert check(again.session) == []


async def test_pending_input_waits_at_a_resume_and_then_goes_first(store: str) -> None:
    async with stage([[{"text": "a"}, {"pause": 60_000}], "b", "c"], store=store) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("one")
        agent.cancel()
    async with stage(["a", "b"], store=store) as harness, await harness.agents.resume(agent.id, model=MODEL) as again:
        assert not again.running
        again.followup("two")
        await again.when_idle()
        assert said(again.session) == ["user: one", "assistant: a", "user: two", "assistant: b"]


async def test_pending_input_is_inherited_by_a_fork_and_wakes_nothing(store: str) -> None:
    async with stage(["a", "b", "c"], store=store) as harness:
        agent = await told(harness, "one")
        agent.inject("by the way")
        async with await harness.store.fork(agent.id) as child:
            id = child.id
        async with await harness.agents.resume(id) as fork:
            assert not fork.running
            fork.followup("two")
            await fork.when_idle()
            assert said(fork.session)[2:] == ["user: by the way", "user: two", "assistant: b"]
        assert said(agent.session) == ["user: one", "assistant: a"]
        assert len(agent.session.project("inbox")) == 1


async def test_a_session_that_asked_no_model_needs_one_named(store: str) -> None:
    async with stage(["a"], store=store) as harness:
        async with await harness.agents.create(MODEL) as agent:
            pass
        with pytest.raises(ModelNeeded):
            await harness.agents.resume(agent.id)
        async with await harness.agents.resume(agent.id, model=MODEL) as again:
            assert again.model == MODEL


async def test_a_probe_of_the_tools_tells_what_became_of_a_call(store: str, tmp_path: Path) -> None:
    looked: list[tuple[str, str]] = []

    async def look(context: ToolContext, arguments: object) -> Verdict:
        looked.append((context.call_id, str(context.cwd)))
        return "confirmed"

    async with open_store(store) as opened, await opened.create({"id": "s", "cwd": "/here"}) as log:
        stop_within_a_call(log, "probed")
        await log.flush()
        await log.abandon()

    @tool(probe=look)
    async def probed() -> str:
        """Do something that can be looked for."""
        return "done"

    tools: list[Tool] = [probed]
    async with stage(["-", "fine"], tools, store=store) as harness, await harness.agents.resume("s") as again:
        [result] = payloads(again.session, "tool/result")
        assert result.error.code == "TOOL_OUTCOME_CONFIRMED"
        assert looked == [("c1", "/here")]
        again.followup("and?")
        await again.when_idle()
        assert said(again.session)[-1] == "assistant: fine"


def stop_within_a_call(log: Session, tool: str) -> None:
    """Append what a process leaves that ends while a tool runs."""
    message = user_message("go")
    asked = ToolCall(id="c1", name=tool, arguments="{}")
    answer = Message(id="a", role="assistant", content=(asked,), source=model_source("script", "it"))
    log.append(InboxSpliced(target="next-turn", start=0, inserted=(InboxItem(message=message, wakes=True),)))
    log.append(TurnStart(turn=1))
    log.append(StepStart(turn=1, step=1))
    log.append(message, "append")
    log.append(RequestHeaderEvent(header=script_route([], "it").header(), reason="initial"))
    log.append(RequestSent(turn=1, step=1, attempt=1, adapter="x", adapter_version="1", sha256="", bytes=0))
    log.append(AssistantMessage(turn=1, step=1, message=answer), "append", [])
    log.append(ToolCallEvent(turn=1, step=1, call_id="c1", name=tool, arguments="{}"))


def ask_for_three(log: Session) -> list[int]:
    """Append a step whose answer asks for three calls that are all taken up; give the seqs of the calls."""
    message = user_message("go")
    asked = tuple(ToolCall(id=f"c{n}", name="peek", arguments="{}") for n in range(3))
    answer = Message(id="a", role="assistant", content=asked, source=model_source("script", "it"))
    log.append(TurnStart(turn=1))
    log.append(StepStart(turn=1, step=1))
    log.append(message, "append")
    log.append(RequestHeaderEvent(header=script_route([], "it").header(), reason="initial"))
    log.append(RequestSent(turn=1, step=1, attempt=1, adapter="x", adapter_version="1", sha256="", bytes=0))
    log.append(AssistantMessage(turn=1, step=1, message=answer), "append", [])
    return [
        log.append(ToolCallEvent(turn=1, step=1, call_id=f"c{n}", name="peek", arguments="{}")).seq for n in range(3)
    ]


async def test_of_three_calls_the_one_without_a_result_is_answered_in_its_place(store: str) -> None:
    async with open_store(store) as opened, await opened.create({"id": "s"}) as log:
        seqs = ask_for_three(log)
        log.append(ToolResultEvent(turn=1, step=1, message=tool_message("c0", "zero")), "append", [seqs[0]])
        log.append(ToolSettled(turn=1, step=1, message=tool_message("c2", "two")))
        await log.flush()
        await log.abandon()
    async with stage(["-", "fine"], [peek], store=store) as harness, await harness.agents.resume("s") as again:
        results = payloads(again.session, "tool/result")
        assert [result.message.result.tool_call_id for result in results] == ["c0", "c1", "c2"]
        assert [result.error and result.error.code for result in results] == [None, "TOOL_OUTCOME_UNKNOWN", None]
        again.followup("and?")
        await again.when_idle()
        assert said(again.session)[-2:] == ["user: and?", "assistant: fine"]
        assert check(again.session) == []


async def test_a_call_that_waited_for_approval_is_closed_as_not_started_and_the_model_is_told(store: str) -> None:
    async with open_store(store) as opened, await opened.create({"id": "s"}) as log:
        stop_within_a_call(log, "poke")
        log.append(ApprovalAsked(id="q", tool_name="poke", call_id="c1"))
        await log.flush()
        await log.abandon()
    async with stage(["-", "fine"], [poke], store=store) as harness, await harness.agents.resume("s") as again:
        [result] = payloads(again.session, "tool/result")
        assert result.error.code == "TOOL_NOT_STARTED"
        again.followup("and?")
        await again.when_idle()
        assert "it had no effect" in said(again.session)[2]
        assert said(again.session)[-1] == "assistant: fine"
