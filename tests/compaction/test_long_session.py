"""A session of 2,000 steps in a window of 32k: compacted many times, valid at every request, and wholly in its log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import pytest_asyncio
from tests.agent.stage import endings, payloads
from tests.compaction.worker import NAME, Worker, workshop

from everlog.agent.seam import OwnedAgent
from everlog.harness import Harness
from everlog.llm.wire import check_wire, wire_of_attempt
from everlog.session import Log, Recording, read_event
from everlog.session.request import Request
from everlog.session.rules import check
from everlog.store.seam import StoredRecording
from everlog.tools.declare import tool

STEPS, STEPS_OF_A_TURN, WINDOW = 2_000, 20, 32_000
LOOP = {"loop_scope": "module"}
pytestmark = [pytest.mark.slow, pytest.mark.rebuilds_itself, pytest.mark.asyncio(**LOOP)]


@tool(effects="read-only", parallel_safe=True)
async def read(path: str, lines: int) -> str:
    """Read a file.

    Args:
        path: which.
        lines: how many lines of it.
    """
    return "\n".join(f"{number}\tvalue_{number} = compute(“{path}”, {number * 7})" for number in range(lines))


def work(number: int, request: Request) -> Any:
    """One, two or three calls a step, of short and of long results; at the end of a turn, a few words."""
    if number % STEPS_OF_A_TURN == 0:
        return f"turn {number // STEPS_OF_A_TURN} is done: " + "it went well. " * 20
    sizes = {0: (12, 12, 12), 1: (20,), 2: (8, 8), 3: (200,)}[number % 4 if number % 12 == 3 else number % 3]
    return [("read", {"path": f"src/{number}_{at}.py", "lines": lines}) for at, lines in enumerate(sizes)]


@dataclass
class Ran:
    """What the session left."""

    harness: Harness
    worker: Worker
    agent: OwnedAgent
    stored: Log
    sizes: list[int]
    """The tokens of each request."""
    summaries: int


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ran(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ran]:
    worker = Worker(work, WINDOW, keep_requests=False)
    url = f"sqlite://{tmp_path_factory.mktemp('long')}/sessions.db"
    async with workshop(worker, [read], store=url) as harness:
        agent = await harness.agents.create(NAME)
        for turn in range(STEPS // STEPS_OF_A_TURN):
            agent.followup(f"task {turn}: look at the files of part {turn} and say what they do")
            await agent.when_idle()
        recording: StoredRecording = await harness.store.open(agent.id, "read")
        async with recording:
            stored = Recording(recording.header, [read_event(event.to_json()) for event in recording.events])
        yield Ran(harness, worker, agent, stored, list(worker.sizes), worker.summaries)


def kinds(log: Log) -> list[str]:
    return [event.type for event in log.events]


async def test_it_ran_to_its_end_and_was_compacted_and_pruned_many_times(ran: Ran) -> None:
    counted = {kind: kinds(ran.stored).count(kind) for kind in set(kinds(ran.stored))}
    assert counted["step/end"] == STEPS
    assert counted["compaction/summary"] >= 20
    assert counted["compaction/prune"] >= 20
    assert set(endings(ran.stored)) == {"completed"}
    assert "assistant/attempt" not in counted, "no request was refused or failed"
    assert check(ran.stored) == []


async def test_every_request_was_within_the_window(ran: Ran) -> None:
    assert ran.worker.overflows == 0
    assert max(ran.sizes) < WINDOW
    assert len(ran.sizes) == STEPS + ran.summaries


async def test_every_request_is_rebuilt_from_the_stored_log_byte_for_byte(ran: Ran) -> None:
    checks = list(check_wire(ran.stored, lambda name: ran.worker))
    assert len(checks) == STEPS + ran.summaries
    assert [found.difference for found in checks if not found.matches] == []


async def test_the_transcript_holds_every_line(ran: Ran) -> None:
    lines = ran.stored.transcript()
    assert [line.seq for line in lines] == [event.seq for event in ran.stored.events if event.surface_op == "append"]
    prompts = [line.message.text for line in lines if line.event.type == "user/message" and line.message]
    assert [text.split(":")[0] for text in prompts] == [f"task {turn}" for turn in range(STEPS // STEPS_OF_A_TURN)]


async def test_each_request_grows_at_its_tail_or_begins_a_series(ran: Ran) -> None:
    requests = ran.stored.project("request")
    found = [requests[key] for key in requests]
    series = {
        header.seq
        for header in ran.stored.events
        if header.type == "request/header" and header.data["startsSeries"] is True
    }  # type: ignore[index, call-overload]
    for before, after in pairwise(found):
        grown = after.surface[: len(before.surface)] == before.surface
        assert grown == (after.header_seq == before.header_seq)
        assert grown or after.header_seq in series


@pytest.mark.parametrize("where", ["before", "between", "after"])
async def test_it_forks_before_between_and_after_its_compactions(ran: Ran, where: str) -> None:
    log = ran.stored
    starts = [event.seq for event in log.events if event.type == "compaction/start"]
    ends = [event.seq for event in log.events if event.type == "turn/end"]
    limit = {"before": starts[0], "between": starts[len(starts) // 2], "after": log.next_seq}[where]
    at = max((seq for seq in ends if seq < limit), default=ends[0])
    seen = [message.to_json() for message in log.project("messages", at)]
    async with await ran.harness.store.fork(ran.agent.id, at) as child:
        id = child.id
        assert [message.to_json() for message in child.messages()] == seen
    async with await ran.harness.agents.resume(id) as fork:
        fork.followup("another task")
        await fork.when_idle()
        assert endings(fork.session)[-1] == "completed"
        requests = fork.session.project("request")
        for turn, step, attempt in list(requests)[-STEPS_OF_A_TURN:]:
            assert wire_of_attempt(fork.session, turn, step, attempt, lambda name: ran.worker).matches


async def test_what_it_cost_is_told_with_the_summaries_apart(ran: Ran) -> None:
    spent = ran.stored.project("usage")
    assert spent.side.input_tokens + sum(usage.input_tokens for usage in spent.steps.values()) == sum(ran.sizes)
    assert len(spent.steps) == STEPS
    assert len(payloads(ran.stored, "request/side")) == ran.summaries
