"""Calls are taken up once, answered once, in order, and nothing comes between them and their answers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.rules.refusals import in_step, message, refused, result
from tests.session.stories import Story


def asked(*ids: str) -> Story:
    """A story whose answer asks for these calls."""
    story = in_step()
    story.sent(), story.answer(calls=ids)
    return story


def call(id: str) -> dict[str, Any]:
    return {"turn": 1, "step": 1, "callId": id, "name": "read", "arguments": "{}"}


def test_calls_are_taken_up_settled_and_answered() -> None:
    story = asked("a", "b")
    story.call("b"), story.call("a"), story.settle("b")
    assert story.session.ledger.calls.pending == ["a", "b"]
    story.result("a"), story.result("b")
    assert story.session.ledger.calls.pending == []
    story.end_step()


def test_a_call_belongs_to_a_block_of_this_steps_answer() -> None:
    rule = refused(asked("a"), "tool/call", call("x"))
    assert rule == ("calls.call", "a call block of this step's assistant/message; none has the id x")
    story = asked("a")
    story.call("a"), story.result("a"), story.end_step(), story.step()
    rule, expected = refused(story, "tool/call", {**call("a"), "step": 2})
    assert (rule, expected) == ("calls.call", "a call block of this step's assistant/message; none has the id a")


def test_a_call_is_taken_up_once() -> None:
    story = asked("a", "b")
    story.call("a")
    assert refused(story, "tool/call", call("a")) == ("calls.call", "call a is taken up already")
    story.result("a")
    assert refused(story, "tool/call", call("a")) == ("calls.call", "call a is taken up already")


def test_a_second_result_of_a_call_is_refused() -> None:
    story = asked("a", "b")
    story.call("a"), story.result("a")
    assert refused(story, "tool/result", result("a"), "append") == ("calls.result", "call a is answered already")


def test_a_result_answers_a_call_of_this_step() -> None:
    found = refused(asked("a"), "tool/result", result("x"), "append")
    assert found == ("calls.result", "a call of this step; x is none")


def test_results_stand_in_call_order() -> None:
    story = asked("a", "b")
    story.call("a"), story.call("b")
    found = refused(story, "tool/result", result("b"), "append")
    assert found == ("calls.result", "an answer to call a first, in call order")


@pytest.mark.parametrize("code", [None, "TOOL_FAILED", "TOOL_OUTCOME_UNKNOWN"])
def test_only_a_result_that_says_not_started_answers_a_call_that_was_not_taken_up(code: str | None) -> None:
    story = asked("a")
    found = refused(story, "tool/result", result("a", code), "append")
    assert found == ("calls.result", "a tool/call for a before its result, or the code TOOL_NOT_STARTED")
    story.result("a", code="TOOL_NOT_STARTED")


def test_only_a_call_that_was_taken_up_and_waits_settles_and_once() -> None:
    story = asked("a", "b")
    rule = "calls.settled"
    assert refused(story, "tool/settled", result("b")) == (rule, "an unanswered call that was taken up; b is none")
    story.call("a"), story.call("b"), story.settle("b")
    assert refused(story, "tool/settled", result("b")) == (rule, "call b is settled already")
    story.result("a")
    assert refused(story, "tool/settled", result("a")) == (rule, "an unanswered call that was taken up; a is none")


@pytest.mark.parametrize("change", ["text", "error", "meta", "id"])
def test_the_result_of_a_settled_call_says_what_was_settled(change: str) -> None:
    story = asked("a")
    story.call("a"), story.settle("a", "done")
    data = result("a", "FAILED" if change == "error" else None, "other" if change == "text" else "done")
    if change == "meta":
        data["meta"] = 1
    if change == "id":
        data["message"]["id"] = "another"
    expected = "the message, error and meta that settled call a"
    assert refused(story, "tool/result", data, "append") == ("calls.result", expected)
    story.result("a", "done")


@pytest.mark.parametrize("type", ["user/message", "developer/message", "system/message", "assistant/message"])
def test_while_a_call_waits_only_results_join_the_surface(type: str) -> None:
    story = asked("a")
    story.call("a")
    at = {"turn": 1, "step": 1}
    model = {"kind": "model", "provider": "p", "model": "m"}
    data: Any = {
        "user/message": message(),
        "developer/message": {**at, "message": message("developer", {"kind": "plugin", "plugin": "p"})},
        "system/message": {**at, "message": message("system", {"kind": "system-prompt"})},
        "assistant/message": {**at, "message": message("assistant", model)},
    }[type]
    assert refused(story, type, data, "append") == ("calls.answered-first", "a tool/result for call a first")


def test_a_step_with_an_unanswered_call_does_not_end() -> None:
    story = asked("a")
    found = refused(story, "step/end", {"turn": 1, "step": 1})
    assert found == ("calls.answered-first", "a tool/result for call a first")


def test_what_is_not_on_the_surface_may_come_between() -> None:
    story = asked("a")
    story.call("a"), story.queue("steering", target="next-step")
    story.session.append_json("todo/write", {"todos": []})
    story.result("a")
