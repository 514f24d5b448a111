"""A compaction lands as a whole, or leaves what the model sees as it was."""

import asyncio

import pytest
from tests.session.stories import Story, plain_turn

from everlog.compaction.meter import PROJECTION
from everlog.compaction.plan import Cut, Prune
from everlog.compaction.seam import CompactionFailed, Occasion, Summary
from everlog.compaction.transaction import Landing, NoSmaller, compact, prune
from everlog.kernel import Scope
from everlog.llm.script import script_route
from everlog.session import Session
from everlog.session.payloads import CompactionEnd, Usage
from everlog.session.rules import check

USAGE = Usage(input_tokens=70, output_tokens=7)


def a_session(turns: int = 4) -> Story:
    story = Story()
    for number in range(turns):
        plain_turn(story, f"question {number} " + "about this " * 40, f"answer {number} " + "of that " * 40)
    return story


def occasion(session: Session, command: str | None = None) -> Occasion:
    route = script_route([])
    trigger = "window" if command is None else "command"
    scope = Scope("agent")
    return Occasion(session=session, scope=scope, route=route, header=route.header(), trigger=trigger, command=command)


def landing(session: Session, count: int = 4) -> Landing:
    meter = session.project(PROJECTION)
    return Landing(Cut(meter.nodes[:count], sum(meter.tokens[:count])), meter.of_text)


def saying(text: str) -> object:
    async def summarise(id: str) -> Summary:
        return Summary(text, "p", "m", USAGE)

    return summarise


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages()]


async def test_a_summary_takes_the_place_of_the_nodes_it_stands_for_and_of_no_others() -> None:
    story = a_session()
    session = story.session
    before, nodes = texts(session), session.surface.nodes
    await compact(occasion(session), landing(session), saying("they talked"))  # type: ignore[arg-type]
    assert texts(session)[0].endswith("\n\nthey talked")
    assert texts(session)[1:] == before[4:]
    checkpoint = session.events[session.surface.nodes[0]]
    assert set(nodes[:4]) < set(checkpoint.source_event_seqs or ())
    assert [event.type for event in session.events][-4:] == [
        "compaction/start",
        "compaction/summary",
        "user/message",
        "compaction/end",
    ]
    assert check(session) == []


async def test_a_second_summary_stands_for_the_first_as_well() -> None:
    story = a_session()
    session = story.session
    await compact(occasion(session), landing(session), saying("they talked"))  # type: ignore[arg-type]
    plain_turn(story, "more " * 60, "and more " * 60)
    await compact(occasion(session), landing(session, 4), saying("they talked on"))  # type: ignore[arg-type]
    assert [text.split()[-1] for text in texts(session) if "they talked" in text] == ["on"]
    assert check(session) == []


@pytest.mark.parametrize("error", [CompactionFailed("no", USAGE), RuntimeError("a bug"), asyncio.CancelledError()])
async def test_when_there_is_no_summary_the_model_sees_what_it_saw_and_the_lock_is_free(error: BaseException) -> None:
    session = a_session().session
    before, generation = texts(session), session.surface.generation

    async def fail(id: str) -> Summary:
        raise error

    with pytest.raises(type(error)):
        await compact(occasion(session), landing(session), fail)
    assert texts(session) == before
    assert session.surface.generation == generation
    assert session.ledger.compactions.open is None
    end = session.events[-1].data
    assert isinstance(end, CompactionEnd)
    assert end["error"]
    assert check(session) == []


async def test_a_summary_that_is_not_smaller_is_refused_and_what_it_cost_is_told() -> None:
    session = a_session().session
    before = texts(session)
    with pytest.raises(NoSmaller):
        await compact(occasion(session), landing(session, 2), saying("long " * 400))  # type: ignore[arg-type]
    assert texts(session) == before
    error = session.events[-1].data["error"]  # type: ignore[index, call-overload]
    assert error["code"] == "SUMMARY_NOT_SMALLER"
    assert error["usage"]["inputTokens"] == 70
    assert session.project("usage").side.input_tokens == 70


async def test_steering_that_comes_while_the_summary_is_written_waits_in_its_order() -> None:
    story = a_session()
    session = story.session
    for id in ("a", "b"):
        story.queue(id, "next-step", start=0 if id == "a" else 1)

    async def slow(id: str) -> Summary:
        story.queue("c", "next-step", start=2)
        return Summary("they talked", "p", "m")

    await compact(occasion(session), landing(session), slow)
    assert [input.id for input in session.project("inbox")] == ["a", "b", "c"]


async def test_a_surface_that_changed_meanwhile_refuses_the_landing() -> None:
    story = a_session()
    session = story.session
    first = session.surface.nodes[0]

    async def slow(id: str) -> Summary:
        session._surface._nodes.remove(first)  # as no session lets anybody do
        return Summary("they talked", "p", "m")

    with pytest.raises(Exception, match="node"):
        await compact(occasion(session), landing(session), slow)
    assert session.ledger.compactions.open is None


async def test_the_command_that_asked_for_it_is_told_at_its_start_and_its_end() -> None:
    session = a_session().session
    await compact(occasion(session, "cmd"), landing(session), saying("they talked"))  # type: ignore[arg-type]
    told = {e.type: e.data.get("sourceCommandId") for e in session.events if e.type.startswith("compaction/")}  # type: ignore[union-attr]
    assert told == {"compaction/start": "cmd", "compaction/summary": "cmd", "compaction/end": "cmd"}


def test_a_pruned_result_changes_in_its_content_only_and_still_answers_its_call() -> None:
    story = Story()
    story.turn()
    story.step()
    story.prompt("read it")
    story.header()
    story.sent()
    story.answer(calls=["c1"])
    taken = story.call("c1")
    result = story.result("c1", "line\n" * 500, code="TOOL_FAILED")
    prune(story.session, Prune(result.seq, 500, 10, "line\n[…]"))
    pruned = story.session.events[-1]
    assert pruned.source_event_seqs == (taken.seq, result.seq)
    assert pruned.data["error"] == result.data["error"]  # type: ignore[index, call-overload]
    [message] = [m for m in story.session.messages() if m.result is not None]
    assert message.result is not None
    assert message.result.content[0]["text"] == "line\n[…]"
    assert message.result.is_error
    assert [line.shadowed_by for line in story.session.transcript() if line.seq == result.seq] == [pruned.seq]
    assert check(story.session) == []
