"""Compaction in sessions that agents run: what a person, the model and the log each have of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.agent.stage import endings, payloads, types, until
from tests.compaction.worker import NAME, Worker, is_summary_request, workshop

from everlog.agent.seam import AgentEnded, OwnedAgent
from everlog.compaction.seam import CompactionFailed, NothingToCompact
from everlog.harness import Harness
from everlog.kernel import Config
from everlog.session import Log
from everlog.session.jsonvalue import equal
from everlog.session.request import Request
from everlog.session.rules import check
from everlog.tools.declare import tool

WINDOW = 16_000


@tool(effects="read-only")
async def look(at: str) -> str:
    """Look at something.

    Args:
        at: what.
    """
    return f"{at}: " + "seen " * 200


def talk(number: int, request: Request) -> str:
    return f"answer {number} " + "word " * 500


def work(number: int, request: Request) -> Any:
    """Four steps with two calls each, then an answer."""
    return f"done {number}" if number % 5 == 0 else [("look", {"at": f"a{number}"}), ("look", {"at": f"b{number}"})]


async def asked(agent: OwnedAgent, *texts: str) -> None:
    for text in texts:
        agent.followup(text)
    await agent.when_idle()


async def until_compacted(agent: OwnedAgent, times: int = 1) -> None:
    """Ask on until the session was compacted so often."""
    for number in range(100):
        if types(agent.session).count("compaction/summary") >= times:
            return
        await asked(agent, f"question {number} " + "word " * 500)
    raise AssertionError("it was never compacted")


def bodies(log: Log) -> list[Request]:
    requests = log.project("request")
    return [requests[key].request for key in requests]


def summaries(worker: Worker) -> list[Request]:
    return [request for request in worker.requests if is_summary_request(request)]


async def test_the_prompt_that_made_it_too_much_is_logged_first_and_answered_after() -> None:
    worker = Worker(talk, WINDOW)
    async with workshop(worker) as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent)
        log, kinds = agent.session, types(agent.session)
        start = kinds.index("compaction/start")
        prompt = max(seq for seq in range(start) if kinds[seq] == "user/message")
        answer = kinds.index("assistant/message", start)
        assert prompt < start < kinds.index("compaction/end") < answer
        assert log.events[prompt].seq in log.surface.nodes
        assert worker.requests[-1].messages[-1].text == log.message(prompt).text  # type: ignore[union-attr]
        assert endings(log)[-1] == "completed"
        assert check(log) == []


async def test_calls_and_results_stay_together_through_one_compaction_after_another() -> None:
    worker = Worker(work, WINDOW)
    async with workshop(worker, [look]) as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent, 4)
        assert worker.overflows == 0
        assert set(endings(agent.session)) == {"completed"}, "the worker refuses what no provider accepts"
        assert check(agent.session) == []


async def test_the_summary_request_is_the_conversations_own_and_one_message_more() -> None:
    worker = Worker(work, WINDOW)
    async with workshop(worker, [look]) as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent)
        summary = summaries(worker)[0]
        before = worker.requests[[id(request) for request in worker.requests].index(id(summary)) - 1]
        assert summary.header.to_json() == before.header.to_json(), "the same configuration and tools"
        own = [message.to_json() for message in before.messages]
        assert [message.to_json() for message in summary.messages[: len(own)]] == own
        assert not any(is_summary_request(Request(summary.header, [message])) for message in agent.session.messages())


async def test_the_prefix_before_the_first_replaced_node_is_byte_equal_across_requests() -> None:
    worker = Worker(work, WINDOW)
    async with workshop(worker, [look]) as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent, 3)
        headers = payloads(agent.session, "request/header")
        assert [h.reason for h in headers] == ["initial"] + ["series"] * (len(headers) - 1)
        before: list[bytes] = []
        for request in bodies(agent.session):
            now = [message.to_json() for message in request.messages]
            shared = next((at for at, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), len(before))
            assert shared == len(before) or shared == 1, "grown at its tail, or rewritten right after the system prompt"
            before = now


async def test_a_person_who_scrolls_up_finds_every_line_and_where_the_view_was_shortened() -> None:
    worker = Worker(work, WINDOW)
    async with workshop(worker, [look]) as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent, 2)
        log = agent.session
        appended = [e for e in log.events if e.surface_op == "append"]
        lines = log.transcript()
        assert [line.seq for line in lines] == [event.seq for event in appended]
        nodes = set(log.surface.nodes)
        assert all((line.shadowed_by is None) == (line.seq in nodes) for line in lines)
        replaced_by = {log.events[line.shadowed_by].type for line in lines if line.shadowed_by is not None}
        assert replaced_by == {"user/message"}


async def test_a_fork_from_before_sees_the_original_messages_and_one_from_after_the_summary(tmp_path: Path) -> None:
    worker = Worker(work, WINDOW)
    async with workshop(worker, [look], store=f"sqlite://{tmp_path}/sessions.db") as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent, 2)
        log = agent.session
        starts = [event.seq for event in log.events if event.type == "compaction/start"]
        ends = [event.seq for event in log.events if event.type == "turn/end"]
        before = max(seq for seq in ends if seq < starts[0])
        between = max((seq for seq in ends if starts[0] < seq < starts[1]), default=before)
        for at in {before, between, ends[-1]}:
            seen = log.project("messages", at)
            async with await harness.store.fork(log.id, at) as child:
                id = child.id
                assert [m.to_json() for m in child.messages()] == [m.to_json() for m in seen]
            async with await harness.agents.resume(id) as fork:
                await asked(fork, "and here?")
                assert endings(fork.session)[-1] == "completed"
                assert check(fork.session) == []
        assert not any(m.text.startswith("The conversation before") for m in log.project("messages", before))


class Gate:
    """Holds a worker's summaries back until it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.reached = asyncio.Event()


class Held(Worker):
    """A worker that waits for the gate before it writes a summary."""

    gate: Gate

    async def stream(self, request: Request, body: bytes) -> Any:
        if is_summary_request(request):
            self.gate.reached.set()
            await self.gate.opened.wait()
        async for delta in super().stream(request, body):
            yield delta


def held() -> Held:
    worker = Held(talk, WINDOW)
    worker.gate = Gate()
    return worker


async def filled(harness: Harness) -> OwnedAgent:
    """An agent with something to compact, idle."""
    agent = await harness.agents.create(NAME)
    await asked(agent, *(f"question {number} " + "word " * 500 for number in range(4)))
    return agent


async def test_what_a_person_says_while_the_summary_is_written_is_kept_in_its_order() -> None:
    worker = held()
    async with workshop(worker) as harness:
        agent = await harness.agents.create(NAME)
        asking = asyncio.create_task(until_compacted(agent))
        await worker.gate.reached.wait()
        agent.steer("first")
        agent.steer("second")
        agent.followup("third")
        worker.gate.opened.set()
        await asking
        said = [m.text for m in agent.session.messages() if m.role == "user"]
        assert said[-3:] == ["first", "second", "third"]
        assert len(agent.session.project("inbox")) == 0
        assert check(agent.session) == []


async def test_cancelling_while_the_summary_is_written_leaves_the_view_as_it_was_and_the_input_pending() -> None:
    worker = held()
    async with workshop(worker) as harness:
        agent = await filled(harness)
        before = [message.to_json() for message in agent.session.messages()]
        compacting = asyncio.create_task(agent.compact())
        await worker.gate.reached.wait()
        agent.followup("and then?")
        agent.cancel()
        with pytest.raises(CompactionFailed, match="cancelled"):
            await compacting
        await agent.when_idle()
        assert [message.to_json() for message in agent.session.messages()] == before
        assert agent.session.ledger.compactions.open is None
        assert len(agent.session.project("inbox")) == 1
        worker.gate.opened.set()
        agent.wake()
        await agent.when_idle()
        assert endings(agent.session)[-1] == "completed"
        assert check(agent.session) == []


async def test_a_person_may_have_it_between_turns_and_the_next_prompt_finds_it_done() -> None:
    worker = Worker(talk, WINDOW)
    async with workshop(worker) as harness:
        agent = await filled(harness)
        relief = await agent.compact("the numbers")
        assert relief.after < relief.before
        assert relief.summarised > 0
        start = payloads(agent.session, "compaction/start")[0]
        assert (start.turn, start.trigger) == (None, "command")
        assert start.source_command_id
        assert "Above all, keep what concerns this: the numbers" in summaries(worker)[0].messages[-1].text
        agent.followup("and now?")
        await agent.when_idle()
        assert worker.requests[-1].messages[1].text.endswith("summary 1 of the work so far")
        assert check(agent.session) == []


async def test_no_turn_begins_while_a_compaction_runs_between_turns() -> None:
    worker = held()
    async with workshop(worker) as harness:
        agent = await filled(harness)
        compacting = asyncio.create_task(agent.compact())
        await worker.gate.reached.wait()
        agent.followup("and then?")
        await asyncio.sleep(0.02)
        assert types(agent.session)[-1] == "inbox/spliced"
        worker.gate.opened.set()
        await compacting
        await agent.when_idle()
        assert endings(agent.session)[-1] == "completed"
        assert check(agent.session) == []


async def test_one_that_is_asked_for_in_a_turn_comes_before_its_next_request() -> None:
    goes_on = asyncio.Event()

    @tool(effects="read-only")
    async def wait() -> str:
        """Wait until somebody says so."""
        await goes_on.wait()
        return "waited"

    worker = Worker(talk, WINDOW)
    async with workshop(worker, [wait]) as harness:
        agent = await filled(harness)
        worker.say = lambda number, request: [("wait", {})] if request.messages[-1].text else "done"
        agent.followup("wait for it")
        await until(lambda: "tool/call" in types(agent.session))
        compacting = asyncio.create_task(agent.compact())
        await asyncio.sleep(0.01)
        assert "compaction/start" not in types(agent.session)
        goes_on.set()
        await compacting
        await agent.when_idle()
        turn = payloads(agent.session, "turn/start")[-1].turn
        assert [(start.turn, start.trigger) for start in payloads(agent.session, "compaction/start")] == [
            (turn, "command")
        ]
        assert endings(agent.session)[-1] == "completed"
        assert check(agent.session) == []


async def test_a_person_hears_when_there_is_nothing_to_shorten_or_nobody_to_do_it() -> None:
    worker = Worker(talk, WINDOW)
    async with workshop(worker) as harness:
        agent = await harness.agents.create(NAME)
        with pytest.raises(NothingToCompact):
            await agent.compact()
        await agent.dispose()
        with pytest.raises(AgentEnded):
            await agent.compact()
    async with workshop(worker, bare='[plugins]\ndisable = ["builtin-tools", "compaction"]\n') as harness:
        agent = await harness.agents.create(NAME)
        with pytest.raises(CompactionFailed, match="no compaction is loaded"):
            await agent.compact()


async def test_a_request_that_was_too_long_is_made_again_after_a_compaction_in_a_step_of_its_own() -> None:
    worker = Worker(talk, WINDOW, counts=False)
    config = '[plugin.compaction.models."worker/it"]\nwindow = 1_000_000\n'
    async with workshop(worker, config=config) as harness:
        agent = await harness.agents.create(NAME)
        for number in range(40):
            await asked(agent, f"question {number} " + "word " * 500)
            if worker.overflows:
                break
        log = agent.session
        assert worker.overflows == 1
        assert endings(log)[-1] == "completed"
        assert payloads(log, "compaction/start")[0].trigger == "overflow"
        last = payloads(log, "turn/start")[-1].turn
        steps = [step for step in log.project("steps") if step.turn == last]
        assert [step.ended for step in steps] == ["failed", "answered"]
        assert check(log) == []


async def test_signed_reasoning_goes_whole_or_stays_byte_for_byte() -> None:
    from everlog.llm import deltas

    class Signing(Worker):
        async def stream(self, request: Request, body: bytes) -> Any:
            if not is_summary_request(request):
                yield deltas.reasoning(9, f"thought {self.asked}")
            async for delta in super().stream(request, body):
                if delta.kind == "finish" and not is_summary_request(request):
                    delta = deltas.finish(deltas.STOP, replay_state={"signature": f"s{self.asked}", "n": 1.0})
                yield delta

    worker = Signing(work, WINDOW)
    async with workshop(worker, [look]) as harness:
        agent = await harness.agents.create(NAME)
        await until_compacted(agent, 2)
        log = agent.session
        originals = {e.data.message.id: e.data.message for e in log.events if e.type == "assistant/message"}  # type: ignore[union-attr]
        kept = [message for message in log.messages() if message.role == "assistant"]
        assert kept
        for message in kept:
            assert message.to_json() == originals[message.id].to_json()
            assert equal(message["source"]["replayState"]["n"], 1)  # type: ignore[index, call-overload]
        assert check(log) == []


async def test_who_reads_the_conversation_is_not_for_a_projects_file_to_say(tmp_path: Path) -> None:
    (tmp_path / "everlog.toml").write_text('[plugin.compaction]\nsummarise_with = "elsewhere/spy"\nkeep_recent = 0.1\n')
    from everlog.compaction.plugin import _settings
    from everlog.kernel.toml import TomlFile

    class Ctx:
        name = "compaction"
        config = Config(project=TomlFile.read(tmp_path / "everlog.toml"))

        def settings(self, shape: Any) -> Any:
            return self.config.section(shape, "plugin", "compaction")

    settings = _settings(Ctx())  # type: ignore[arg-type]
    assert (settings.summarise_with, settings.keep_recent) == ("same", 0.1)
