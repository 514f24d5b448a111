"""A log of which events were lost is made anew from the others, at their own seqs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.logs import stories
from tests.session.stories import Story, plain_turn

from everlog.session import Session, new_header
from everlog.session.rules.checking import check
from everlog.session.salvage import LOST, Lost, Salvaged, salvage


def without(log: Session, *seqs: int) -> Salvaged:
    """Salvage a log of which these events cannot be read."""
    return salvage(new_header(), [Lost(e.seq, "it is damaged") if e.seq in seqs else e for e in log.events])


def a_full_session() -> Session:
    """Two turns with a retry, parallel calls and two steps, and a compaction between turns."""
    story = Story()
    plain_turn(story, "first")
    story.turn()
    story.step()
    story.prompt("do it")
    story.sent()
    story.chunk("hm")
    story.fail()
    story.retry()
    story.sent(2)
    story.chunk("I look", attempt=2)
    story.answer("I look", calls=["c1", "c2"])
    story.call("c1")
    story.call("c2")
    story.settle("c2")
    story.result("c1")
    story.result("c2")
    story.end_step()
    story.step()
    story.sent()
    story.answer("done")
    story.end_step()
    story.end_turn()
    story.compact(story.session.surface.nodes[0], story.session.surface.nodes[1])
    plain_turn(story, "third")
    plain_turn(story, "fourth")
    return story.session


@pytest.mark.parametrize("seq", range(a_full_session().next_seq))
def test_one_lost_event_costs_little_of_the_rest(seq: int) -> None:
    log = a_full_session()
    result = without(log, seq)
    assert check(result.log) == []
    assert result.log.next_seq == log.next_seq
    lost = [item.seq for item in result.lost]
    kept = [event for event in log.events if event.seq not in lost]
    assert [result.log.events[event.seq].to_json() for event in kept] == [event.to_json() for event in kept]
    assert seq in lost
    # What hangs on an answer or on a compaction's parts goes with it; all else stays.
    assert len(lost) <= 6
    assert result.log.ledger.turns.last == 4


def test_what_stands_for_a_lost_event_says_why() -> None:
    story = Story()
    story.prompt("one")
    story.prompt("two")
    story.prompt("three")
    result = without(story.session, 1)
    assert [event.type for event in result.log.events] == ["user/message", LOST, "user/message"]
    assert result.log.events[1].data == {"reason": "it is damaged"}
    assert result.log.events[1].ignorable
    assert [item.text for item in result.log.messages()] == ["one", "three"]


def test_a_result_whose_call_was_lost_keeps_its_place_by_what_the_answer_says_of_the_call() -> None:
    story = Story()
    story.turn()
    story.step()
    story.answer("", calls=["c1"])
    taken = story.call("c1")
    story.result("c1", "found it")
    story.end_step()
    story.end_turn()
    result = without(story.session, taken.seq)
    assert result.mended == 1
    assert result.log.events[taken.seq].data == taken.data


def test_a_log_of_which_nothing_was_lost_stays_what_it_is() -> None:
    log = a_full_session()
    result = without(log)
    assert (result.lost, result.mended) == ([], 0)
    assert list(result.log.events) == list(log.events)


@settings(max_examples=60, deadline=None)
@given(stories(), st.data())
def test_whatever_is_lost_the_rest_is_a_sound_log(story: Story, data: st.DataObject) -> None:
    log = story.session
    seqs = data.draw(st.sets(st.integers(0, max(0, log.next_seq - 1)), max_size=8))
    result = without(log, *seqs)
    assert check(result.log) == []
    assert result.log.next_seq == log.next_seq
    lost = {item.seq for item in result.lost}
    assert seqs & set(range(log.next_seq)) <= lost
    for event in log.events:
        assert event.seq in lost or result.log.events[event.seq] == event
