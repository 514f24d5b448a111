"""The meter tells what the model sees in tokens: the provider's count where there is one, an estimate beyond it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.logs import CONTENT, foreign_logs, stories
from tests.session.stories import Story, plain_turn

from everlog.compaction.estimator import counts_of, tokens_of
from everlog.compaction.meter import PROJECTION, Meter
from everlog.session import Log, Session
from everlog.session.payloads import Usage


def meter(log: Log, at: int | None = None) -> Meter:
    found: Meter = log.project(PROJECTION, at)
    return found


def read_out(found: Meter) -> tuple[Any, ...]:
    return found.nodes, found.tokens, found.total, found.overhead, found.anchored, found.factor, found.family


@given(story=stories())
@settings(max_examples=60, deadline=None)
def test_live_cold_and_as_of_a_seq_agree(story: Story) -> None:
    log = story.session
    live, then = Session(log.header), []
    for event in log.events:
        live._take_in(event, None if event.kind is None else event.kind.check(event.data_json))
        then.append((read_out(meter(live)), meter(live)))
    for seq, (at_the_time, view) in enumerate(then):
        assert at_the_time == read_out(view), "a view stays what it was"
        if seq % 7 == 0:
            assert at_the_time == read_out(meter(log, seq))


@given(log=stories().map(lambda story: story.session) | foreign_logs(), cut=st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_its_state_is_plain_json_without_content_and_goes_on_from_it(log: Log, cut: int) -> None:
    state = PROJECTION.init()
    for event in log.events[:cut]:
        PROJECTION.apply(state, event)
    restored = json.loads(json.dumps(state))
    assert CONTENT not in json.dumps(state, ensure_ascii=False)
    for event in log.events[cut:]:
        PROJECTION.apply(restored, event)
    assert read_out(PROJECTION.view(restored, log)) == read_out(meter(log))


@given(story=stories())
@settings(max_examples=40, deadline=None)
def test_the_total_is_the_sum_of_what_is_not_anchored_and_of_what_is(story: Story) -> None:
    found = meter(story.session)
    if not found.anchored:
        assert abs(found.total - sum(found.tokens) - found.overhead) <= len(found.nodes) + 1
    assert found.nodes == story.session.surface.nodes


def test_a_providers_count_stands_for_what_it_covers_and_corrects_the_rest() -> None:
    story = Story()
    plain_turn(story, "word " * 100, "word " * 100)
    story.turn()
    story.step()
    story.prompt("word " * 100)
    estimated = meter(story.session).total
    story.sent()
    story.answer("word " * 100, usage=Usage(input_tokens=200, cache_read_tokens=200, output_tokens=100))
    found = meter(story.session)
    assert found.anchored == 3
    assert found.factor == pytest.approx(400 / estimated, rel=0.02)
    assert found.total == 400 + found.tokens[3]
    assert found.tokens[3] == pytest.approx(97 * found.factor + 4, rel=0.1)


def test_a_rewrite_takes_the_anchor_and_keeps_what_it_taught() -> None:
    story = Story()
    for _ in range(3):
        plain_turn(story, "word " * 100, "word " * 100)
    story.turn()
    story.step()
    story.prompt("word")
    story.sent()
    story.answer("word", usage=Usage(input_tokens=800))
    factor = meter(story.session).factor
    assert factor > 1.2
    story.compact(*story.session.surface.nodes[:2])
    found = meter(story.session)
    assert (found.anchored, found.factor) == (0, factor)
    assert found.total == pytest.approx(800 * 4 / 6, rel=0.1)


def test_another_model_counts_otherwise_so_nothing_that_was_counted_holds_for_it() -> None:
    story = Story()
    plain_turn(story)
    story.turn()
    story.step()
    story.prompt("word " * 100)
    story.sent()
    story.answer("word", usage=Usage(input_tokens=200))
    story.header("claude-sonnet-4", reason="change")
    found = meter(story.session)
    assert (found.anchored, found.factor, found.family) == (0, 1.0, "claude")


def test_what_is_offered_besides_messages_counts() -> None:
    story = Story()
    story.turn()
    story.step()
    story.header(tools=[])
    assert meter(story.session).total <= 1
    tools = [{"name": "read", "description": "Read a file. " * 30, "parameters": {}}]
    story.header(tools=tools, reason="change")
    found = meter(story.session)
    written = json.dumps(tools, separators=(",", ":"))
    assert found.total == found.overhead == round(tokens_of(counts_of(written), found.family))


def test_an_absurd_count_does_not_turn_estimates_into_noise() -> None:
    story = Story()
    plain_turn(story, "word " * 100)
    story.turn()
    story.step()
    story.prompt("word")
    story.sent()
    story.answer("word", usage=Usage(input_tokens=1_000_000))
    assert meter(story.session).factor == 2.0
    assert meter(story.session).total > 1_000_000
