"""Usage counts every token that was reported, once."""

from __future__ import annotations

from tests.session.stories import Story, plain_turn

from everlog.session import Session
from everlog.session.payloads import Usage
from everlog.session.projections.usage import Spent


def spent(session: Session) -> Spent:
    found: Spent = session.project("usage")
    return found


def record(**usage: int) -> dict[str, object]:
    return {"kind": "usage", "t0": 1, "usage": usage}


def begun() -> Story:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    return story


def test_records_of_the_stream_count_and_the_message_does_not_count_again() -> None:
    story = begun()
    story.chunk(records=[record(inputTokens=10, outputTokens=4)])
    story.answer("hi", usage=Usage(input_tokens=99, output_tokens=99))
    assert spent(story.session).total == Usage(input_tokens=10, output_tokens=4)


def test_without_records_the_message_counts() -> None:
    story = begun()
    story.chunk("hi"), story.answer("hi", usage=Usage(input_tokens=10, output_tokens=4))
    assert spent(story.session).total == Usage(input_tokens=10, output_tokens=4)


def test_of_the_records_of_an_attempt_the_last_counts() -> None:
    story = begun()
    story.chunk(records=[record(inputTokens=10, outputTokens=1), record(inputTokens=10, outputTokens=3)])
    story.chunk(records=[record(inputTokens=10, outputTokens=5)])
    assert spent(story.session).total == Usage(input_tokens=10, output_tokens=5)


def test_failed_attempts_count_too() -> None:
    story = begun()
    story.fail(1, usage=Usage(input_tokens=10)), story.retry(1)
    story.sent(2), story.chunk(attempt=2, records=[record(inputTokens=20)]), story.fail(2), story.retry(2)
    story.sent(3), story.answer("hi", usage=Usage(input_tokens=40))
    found = spent(story.session)
    assert found.total.input_tokens == 70
    assert [usage.input_tokens for usage in found.attempts.values()] == [10, 20, 40]
    assert {key: usage.input_tokens for key, usage in found.steps.items()} == {(1, 1): 70}
    assert found.turn(1).input_tokens == 70
    assert found.turn(2).input_tokens == 0


def test_cache_reads_and_writes_are_kept_apart() -> None:
    story = begun()
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, reasoning_tokens=1)
    story.answer("hi", usage=usage)
    assert spent(story.session).total == usage


def test_an_answer_without_content_still_counts() -> None:
    story = begun()
    story.answer("", usage=Usage(input_tokens=3))
    assert spent(story.session).total.input_tokens == 3


def test_a_compaction_counts_in_the_whole_and_in_no_step() -> None:
    story = Story()
    plain_turn(story)
    nodes = story.session.surface.nodes
    story.compact(nodes[0], nodes[-1])
    found = spent(story.session)
    assert found.side == found.total == Usage(input_tokens=7, output_tokens=3)
    assert not found.steps


def test_usage_in_the_stream_that_a_foreign_answer_embeds_counts() -> None:
    story = begun()
    message = {"id": "a", "role": "assistant", "content": [{"type": "text", "text": "hi"}]}
    message["source"] = {"kind": "model", "provider": "p", "model": "m"}  # type: ignore[assignment]
    data = {"turn": 1, "step": 1, "message": message, "stream": [record(inputTokens=6)]}
    story.session.append_json("assistant/message", {**data, "usage": {"inputTokens": 9}}, "append")
    assert spent(story.session).total.input_tokens == 6


def test_an_earlier_view_stays_as_it_was() -> None:
    story = begun()
    story.chunk(records=[record(inputTokens=1)])
    before = spent(story.session)
    story.chunk(records=[record(inputTokens=5)])
    assert before.total.input_tokens == 1
    assert before.steps[1, 1].input_tokens == 1
