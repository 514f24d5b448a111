"""Closers end whatever a killed process left open, once, and leave a conversation that a provider takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.logs import stories
from tests.session.reference import conversation_faults
from tests.session.stories import Story

from everlog.session import Event, Log, Recording
from everlog.session.messages import Reasoning, Text
from everlog.session.payloads import ApprovalAsked, ApprovalDecided, AssistantMessage
from everlog.session.repair import closers
from everlog.session.rules import check


def cut(log: Log, count: int | None = None) -> Recording:
    return Recording(log.header, log.events[:count])


def repaired(log: Log, ending: Any = "interrupted") -> Recording:
    return Recording(log.header, [*log.events, *closers(log, ending)])


def types(events: Sequence[Event]) -> list[str]:
    return [event.type for event in events]


def conversation(log: Log) -> list[Any]:
    return [json.loads(message.to_json()) for message in log.messages()]


@given(story=stories(50), at=st.integers(0, 80), ending=st.sampled_from(["interrupted", "forked"]))
@settings(max_examples=500)
def test_any_cut_is_repaired_into_a_sound_log_that_a_provider_takes(story: Story, at: int, ending: str) -> None:
    broken = cut(story.session, at)
    mended = repaired(broken, ending)
    assert check(mended) == []
    assert conversation_faults(conversation(mended)) == []
    assert closers(mended) == []
    assert not mended.ledger.turns.is_open
    assert mended.events[: broken.next_seq] == broken.events


@given(story=stories(50))
@settings(max_examples=40)
def test_every_cut_of_one_log_is_repaired(story: Story) -> None:
    for at in range(story.session.next_seq + 1):
        mended = repaired(cut(story.session, at))
        assert mended.violations == ()
        assert conversation_faults(conversation(mended)) == []
        assert closers(mended) == []


@given(story=stories(50))
@settings(max_examples=60)
def test_the_same_log_has_the_same_closers_with_the_time_of_its_last_event(story: Story) -> None:
    log = story.session
    first, second = closers(log), closers(cut(log))
    assert [event.to_json() for event in first] == [event.to_json() for event in second]
    assert {event.time for event in first} <= {log.events[-1].time if log.next_seq else None}
    assert [event.seq for event in first] == list(range(log.next_seq, log.next_seq + len(first)))


@given(story=stories(50), at=st.integers(0, 80))
@settings(max_examples=100)
def test_a_fork_inside_a_turn_is_closed_into_a_sound_session(story: Story, at: int) -> None:
    log = story.session
    if log.next_seq:
        child = log.fork(at % log.next_seq, open_turn="close")
        assert check(child) == []
        assert conversation_faults(conversation(child)) == []


# -- what each closer says


def begun() -> Story:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header("big"), story.sent()
    return story


def test_an_open_turn_without_a_step_is_ended() -> None:
    story = Story()
    story.turn()
    (end,) = closers(story.session)
    assert json.loads(end.to_json())["data"] == {"turn": 1, "reason": {"kind": "interrupted"}}


def test_a_closed_log_needs_nothing() -> None:
    assert closers(Story().session) == []


def test_what_was_said_of_an_answer_is_kept_and_cites_its_chunks() -> None:
    story = begun()
    story.chunk("think", kind="reasoning")
    story.chunk("half an "), story.chunk("answer")
    story.chunk(records=[{"kind": "tool-call", "index": 3, "id": "c", "t0": 1, "dt": [], "parts": ["{"]}])
    answer, *rest = closers(story.session)
    data: Any = answer.data
    assert isinstance(data, AssistantMessage)
    assert data.interrupted is True
    assert [(type(block), block.text) for block in data.message.content] == [
        (Reasoning, "think"),
        (Text, "half an answer"),
    ]
    assert (data.message.source.provider, data.message.source.model) == ("p", "big")
    assert answer.source_event_seqs == tuple(e.seq for e in story.session.events if e.type == "assistant/chunk")
    assert types(rest) == ["step/end", "turn/end"]


def test_its_blocks_stand_in_the_order_in_which_they_began() -> None:
    story = begun()
    story.chunk(records=[{"kind": "text", "index": 1, "t0": 1, "dt": [], "parts": ["b"]}])
    story.chunk(records=[{"kind": "reasoning", "index": 0, "t0": 1, "dt": [], "parts": ["a"]}])
    story.chunk(records=[{"kind": "text", "index": 1, "t0": 1, "dt": [], "parts": ["c"]}])
    data: Any = closers(story.session)[0].data
    assert [block.text for block in data.message.content] == ["bc", "a"]


@pytest.mark.parametrize("tail", ["nothing", "empty", "failed", "retried", "answered"])
def test_otherwise_no_answer_is_made_up(tail: str) -> None:
    story = begun()
    if tail != "nothing":
        story.chunk("" if tail == "empty" else "half")
    if tail == "failed":
        story.fail(1)
    if tail == "retried":
        story.retry(1)
    if tail == "answered":
        story.answer("whole")
    assert types(closers(story.session)) == ["step/end", "turn/end"]


def test_only_the_last_attempt_is_kept() -> None:
    story = begun()
    story.chunk("first"), story.fail(1), story.retry(1), story.sent(2), story.chunk("second", attempt=2)
    data: Any = closers(story.session)[0].data
    assert data.message.text == "second"


def results(story: Story, ending: Any = "interrupted", verdicts: Any = None) -> list[Any]:
    return [event for event in closers(story.session, ending, verdicts) if event.type == "tool/result"]


def codes(events: list[Any]) -> list[str | None]:
    return [None if event.data.error is None else event.data.error.code for event in events]


def test_each_unanswered_call_is_answered_in_call_order_with_what_is_known() -> None:
    story = begun()
    story.answer(calls=["done", "ran", "settled", "waits", "idle"])
    for id in ("done", "ran", "settled", "waits"):
        story.call(id)
    story.session.append(ApprovalAsked(id="x", tool_name="read", call_id="waits"))
    story.settle("settled", "its result"), story.result("done")
    found = results(story)
    assert [event.data.message.result.tool_call_id for event in found] == ["ran", "settled", "waits", "idle"]
    assert codes(found) == ["TOOL_OUTCOME_UNKNOWN", None, "TOOL_NOT_STARTED", "TOOL_NOT_STARTED"]
    taken = story.session.ledger.calls.taken
    assert [event.source_event_seqs for event in found] == [
        (taken["ran"],),
        (taken["settled"],),
        (taken["waits"],),
        None,
    ]
    assert found[1].data.message.result.content[0].text == "its result"
    assert [event.data.message.result.is_error for event in found] == [True, False, True, True]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("allowed-once", "TOOL_OUTCOME_UNKNOWN"),
        ("allowed-always", "TOOL_OUTCOME_UNKNOWN"),
        ("rejected", "TOOL_NOT_STARTED"),
        ("cancelled", "TOOL_NOT_STARTED"),
        ("unavailable", "TOOL_NOT_STARTED"),
    ],
)
def test_only_a_grant_lets_a_call_have_started(outcome: str, code: str) -> None:
    story = begun()
    story.answer(calls=["a"]), story.call("a")
    story.session.append(ApprovalAsked(id="x", tool_name="read", call_id="a"))
    story.session.append(ApprovalDecided(id="x", outcome=outcome))
    assert codes(results(story)) == [code]


def test_a_probe_may_know_more_of_what_is_unknown_and_nothing_of_what_did_not_start() -> None:
    story = begun()
    story.answer(calls=["a", "b", "c", "d"]), story.call("a"), story.call("b"), story.call("c")
    verdicts = {"a": "confirmed", "b": "absent", "c": "unknown", "d": "confirmed"}
    assert codes(results(story, verdicts=verdicts)) == [
        "TOOL_OUTCOME_CONFIRMED",
        "TOOL_OUTCOME_ABSENT",
        "TOOL_OUTCOME_UNKNOWN",
        "TOOL_NOT_STARTED",
    ]


def test_the_model_is_told_to_verify_and_in_a_fork_that_it_is_a_copy() -> None:
    story = begun()
    story.answer(calls=["a"]), story.call("a")
    (crashed,), (forked,) = results(story), results(story, "forked")
    assert "not known" in crashed.data.message.result.content[0].text
    assert "copy" in forked.data.message.result.content[0].text


def test_an_open_compaction_is_left_behind() -> None:
    story = begun()
    story.answer("hi")
    story.session.append_json("compaction/start", {"compactionId": "c", "turn": 1, "trigger": "manual"})
    mended = repaired(story.session)
    assert mended.violations == ()
    assert mended.ledger.compactions.open is None
