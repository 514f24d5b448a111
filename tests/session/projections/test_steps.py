"""Steps tell which model was asked, what it was offered, and what became of each call."""

from __future__ import annotations

import pytest
from tests.session.stories import TOOLS, Story

from everlog.session import Recording, Session
from everlog.session.payloads import ApprovalAsked, ApprovalDecided
from everlog.session.projections.steps import Step
from everlog.session.repair import closers


def steps(log: Session | Recording) -> list[Step]:
    found: list[Step] = log.project("steps")
    return found


def begun() -> Story:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header("big"), story.sent()
    return story


def test_a_step_names_its_model_its_tools_and_its_events() -> None:
    story = begun()
    story.answer("hi")
    end = story.end_step()
    step = steps(story.session)[0]
    assert (step.turn, step.step, step.provider, step.model) == (1, 1, "p", "big")
    assert step.tools == tuple(tool["name"] for tool in TOOLS)
    assert (step.start_seq, step.end_seq, step.header_seq) == (1, end.seq, 3)
    assert (step.attempts, step.calls, step.ended) == (1, (), "answered")


def test_the_model_is_that_of_the_last_attempt() -> None:
    story = begun()
    story.fail(1), story.retry(1), story.header("small", reason="change", tools=[]), story.sent(2), story.answer("hi")
    step = steps(story.session)[0]
    assert (step.model, step.tools, step.attempts, step.failure) == ("small", (), 2, "SERVER")


def test_each_call_has_its_outcome() -> None:
    story = begun()
    story.answer(calls=["a", "b", "c", "d"])
    called = story.call("a")
    answered = story.result("a")
    story.call("b"), story.result("b", code="TOOL_FAILED")
    story.call("c"), story.result("c", code="TOOL_OUTCOME_UNKNOWN")
    story.result("d", code="TOOL_NOT_STARTED")
    story.end_step()
    step = steps(story.session)[0]
    assert [call.id for call in step.calls] == ["a", "b", "c", "d"]
    assert [call.outcome for call in step.calls] == ["answered", "failed", "unknown", "not started"]
    assert (step.calls[0].name, step.calls[0].call_seq, step.calls[0].result_seq) == ("read", called.seq, answered.seq)
    assert [call.code for call in step.calls][1:] == ["TOOL_FAILED", "TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"]
    assert step.ended == "called"


@pytest.mark.parametrize("outcome", ["rejected", "cancelled", "unavailable"])
def test_a_call_that_was_not_allowed_is_refused(outcome: str) -> None:
    story = begun()
    story.answer(calls=["a"]), story.call("a")
    story.session.append(ApprovalAsked(id="x", tool_name="read", call_id="a"))
    story.session.append(ApprovalDecided(id="x", outcome=outcome))
    story.result("a", code="ANY_CODE")
    assert steps(story.session)[0].calls[0].outcome == "refused"


def test_a_call_that_a_policy_refused_without_asking_is_refused() -> None:
    story = begun()
    story.answer(calls=["a"]), story.call("a"), story.result("a", code="PERMISSION_DENIED")
    assert steps(story.session)[0].calls[0].outcome == "refused"


def test_an_allowed_call_that_failed_is_failed() -> None:
    story = begun()
    story.answer(calls=["a"]), story.call("a")
    story.session.append(ApprovalAsked(id="x", tool_name="read", call_id="a"))
    story.session.append(ApprovalDecided(id="x", outcome="allowed-once"))
    story.result("a", code="ANY_CODE")
    assert steps(story.session)[0].calls[0].outcome == "failed"


def test_while_a_step_is_open_its_calls_run_or_wait() -> None:
    story = begun()
    story.answer(calls=["a", "b"]), story.call("a")
    step = steps(story.session)[0]
    assert [call.outcome for call in step.calls] == ["running", "not started"]
    assert step.ended == "open"


def test_a_crash_leaves_an_unknown_and_a_not_started_call() -> None:
    story = begun()
    story.answer(calls=["a", "b"]), story.call("a")
    log = Recording(story.session.header, [*story.session.events, *closers(story.session)])
    assert [call.outcome for call in steps(log)[0].calls] == ["unknown", "not started"]


@pytest.mark.parametrize(("code", "ended"), [("SERVER", "failed"), (None, "cancelled")])
def test_a_step_without_an_answer_says_why(code: str | None, ended: str) -> None:
    story = begun()
    story.fail(1, code=code), story.end_step()
    assert (steps(story.session)[0].ended, steps(story.session)[0].failure) == (ended, code)


def test_a_step_may_be_broken_off_or_empty() -> None:
    story = begun()
    story.chunk("ha"), story.answer("ha", interrupted=True), story.end_step(), story.step(), story.end_step()
    assert [step.ended for step in steps(story.session)] == ["interrupted", "empty"]
    assert (steps(story.session)[1].model, steps(story.session)[1].attempts) == (None, 0)


def test_a_result_without_a_call_in_a_foreign_log_is_shown() -> None:
    story = begun()
    story.answer(calls=["a"]), story.call("a"), story.result("a")
    events = [e for e in story.session.events if e.type == "tool/result"]
    step = steps(Recording(story.session.header, events))[0]
    assert (step.start_seq, step.ended) == (None, "open")
    assert [(c.id, c.name, c.call_seq, c.outcome) for c in step.calls] == [("a", None, None, "answered")]
