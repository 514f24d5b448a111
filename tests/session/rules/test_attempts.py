"""Attempts are counted, one runs at a time, and one answer ends the step's asking."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from tests.session.rules.refusals import in_step, refused
from tests.session.stories import Story

from everlog.session import Event
from everlog.session.payloads import ChunkPart
from everlog.session.rules.attempts import Attempts, apply_chunk, check_chunk, goes_on
from everlog.session.rules.ledger import Ledger
from everlog.session.rules.turns import Turns, check_named_step

BODY = {"adapter": "a", "adapterVersion": "1", "sha256": "", "bytes": 0}
ANSWER = {
    "id": "a",
    "role": "assistant",
    "content": [{"type": "text", "text": "hi"}],
    "source": {"kind": "model", "provider": "p", "model": "m"},
}


def data_of(type: str, attempt: int) -> dict[str, Any]:
    at = {"turn": 1, "step": 1, "attempt": attempt}
    return at | {"request/sent": BODY, "assistant/chunk": {"records": []}, "llm/retry": {"delayMs": 0}}.get(type, {})


def refused_attempt(story: Story, type: str, attempt: int) -> tuple[str, str]:
    return refused(story, type, data_of(type, attempt))


def refused_answer(story: Story) -> tuple[str, str]:
    return refused(story, "assistant/message", {"turn": 1, "step": 1, "message": ANSWER}, "append")


def test_a_step_may_fail_retry_and_answer() -> None:
    story = in_step()
    story.sent(1), story.chunk("a", attempt=1), story.fail(1), story.retry(1)
    story.sent(2), story.fail(2), story.retry(2)
    story.sent(3), story.chunk("b", attempt=3), story.answer("b")
    assert story.session.ledger.attempts.answered


def test_an_imported_step_may_do_so_without_any_sending() -> None:
    story = in_step()
    story.chunk("a", attempt=1), story.retry(1), story.retry(2), story.fail(3), story.retry(3), story.answer("b")
    assert story.session.ledger.attempts.last == 4


EACH = {
    "request/sent": "attempts.sent",
    "assistant/chunk": "attempts.chunk",
    "assistant/attempt": "attempts.attempt",
    "llm/retry": "attempts.retry",
}


@pytest.mark.parametrize("type", EACH)
@pytest.mark.parametrize("attempt", [0, 2])
def test_the_first_attempt_is_attempt_1(type: str, attempt: int) -> None:
    assert refused_attempt(in_step(), type, attempt) == (EACH[type], f"attempt 1, not {attempt}")


@pytest.mark.parametrize("type", [type for type in EACH if type != "request/sent"])
def test_while_an_attempt_runs_it_is_the_one_that_is_named(type: str) -> None:
    story = in_step()
    story.sent(1)
    assert refused_attempt(story, type, 2) == (EACH[type], "the running attempt 1, not 2")


def test_nothing_is_sent_while_an_attempt_runs() -> None:
    story = in_step()
    story.sent(1)
    assert refused_attempt(story, "request/sent", 2) == ("attempts.sent", "attempt 1 is still running")


@pytest.mark.parametrize("type", ["request/sent", "assistant/chunk", "assistant/attempt"])
def test_a_retry_stands_between_two_attempts(type: str) -> None:
    story = in_step()
    story.sent(1), story.fail(1)
    assert refused_attempt(story, type, 2) == (EACH[type], "an llm/retry that names attempt 1 first")
    story.retry(1)
    story.session.append_json(type, data_of(type, 2))


def test_a_retry_names_the_attempt_that_failed() -> None:
    story = in_step()
    story.sent(1), story.fail(1)
    assert refused_attempt(story, "llm/retry", 2) == ("attempts.retry", "the failed attempt 1, not 2")


def test_an_answer_stands_in_an_attempt() -> None:
    story = in_step()
    story.sent(1), story.fail(1)
    assert refused_answer(story) == ("attempts.message", "an llm/retry that names attempt 1 first")


def test_a_step_has_one_answer_and_no_attempt_after_it() -> None:
    story = in_step()
    story.sent(1), story.answer("hi")
    assert refused_answer(story) == ("attempts.message", "one assistant/message in a step")
    for type in ("request/sent", "assistant/chunk", "assistant/attempt"):
        assert refused_attempt(story, type, 2) == (EACH[type], "no attempt after the step's assistant/message")
    retry = refused_attempt(story, "llm/retry", 1)
    assert retry == ("attempts.retry", "no retry after the step's assistant/message")


def test_each_step_counts_anew() -> None:
    story = in_step()
    story.sent(1), story.answer("hi"), story.end_step(), story.step()
    story.sent(1)
    assert story.session.ledger.attempts.last == 1


def test_a_chunk_that_goes_on_breaks_no_rule_and_changes_nothing() -> None:
    went_on = 0
    for turn, step, last, step_open, running, sent, retried, answered in product(
        (1, 2), (1, 2), (0, 1, 2), *[(False, True)] * 5
    ):
        ledger = Ledger()
        ledger.turns = Turns(turn, True, step, step_open)
        ledger.attempts = Attempts(last, running, sent, retried, answered)
        for named in product((1, 2), (1, 2), (1, 2)):
            data = ChunkPart(*named, [])
            if goes_on(ledger, data):
                went_on += 1
                assert check_named_step(ledger, data, no_event) is None
                assert check_chunk(ledger, data, no_event) is None
                before = ledger.to_bytes()
                apply_chunk(ledger, data, 9)
                assert ledger.to_bytes() == before
    assert went_on == 2 * 2 * 2 * 2**3


def no_event(seq: int) -> Event:
    raise AssertionError(f"event {seq} was read")
