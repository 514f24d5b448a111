"""The ledger: the states of all rules in one, exact through its bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.logs import foreign_logs, stories
from tests.session.rules.refusals import in_step
from tests.session.stories import Story, plain_turn

from everlog.session import Log, Recording, read_event
from everlog.session.jsonvalue import encode
from everlog.session.rules import check
from everlog.session.rules.ledger import Ledger


@given(log=stories().map(lambda story: story.session) | foreign_logs())
@settings(max_examples=100)
def test_its_bytes_are_exact(log: Log) -> None:
    assert Ledger.from_bytes(log.ledger.to_bytes()) == log.ledger


@given(story=stories(), at=st.integers(0, 80))
@settings(max_examples=100)
def test_it_is_the_same_at_any_earlier_seq_as_it_was_then(story: Story, at: int) -> None:
    log = story.session
    seq = at % (log.next_seq + 1) - 1
    surface, ledger = log._state_at(seq)
    then = Recording(log.header, log.events[: seq + 1])
    assert ledger == then.ledger
    assert (surface.nodes, surface.generation, surface.system) == (
        then.surface.nodes,
        then.surface.generation,
        then.surface.system,
    )


@given(story=stories())
@settings(max_examples=60)
def test_what_a_session_took_is_judged_sound(story: Story) -> None:
    assert check(story.session) == []


def test_it_knows_which_header_is_in_force_and_what_came_since() -> None:
    story = in_step()
    first = story.header().seq
    headers = story.session.ledger.headers
    assert (headers.header, headers.seeded, headers.generation) == (first, False, 0)
    story.sent(), story.answer("hi"), story.end_step(), story.end_turn()
    nodes = story.session.surface.nodes
    story.compact(nodes[0], nodes[-1])
    story.session.append_json("session/end-seed", {})
    headers = story.session.ledger.headers
    assert (headers.header, headers.seeded) == (first, True)
    assert headers.generation < story.session.surface.generation
    story.turn(), story.step()
    second, room = story.header(reason="resume").seq, story.context().seq
    headers = story.session.ledger.headers
    assert (headers.header, headers.seeded, headers.context) == (second, False, room)
    assert headers.generation == story.session.surface.generation


def test_an_event_may_break_several_rules_and_each_is_listed() -> None:
    story = Story()
    plain_turn(story)
    row = {"seq": story.session.next_seq, "type": "user/message", "time": 1, "data": {"id": 5}, "surfaceOp": "append"}
    log = Recording(story.session.header, [*story.session.events, read_event(encode({**row, "sourceEventSeqs": []}))])
    assert [violation.rule for violation in log.violations] == ["shape", "surface.sources"]
    assert [(v.seq, v.rule, v.expected) for v in check(log)] == [(v.seq, v.rule, v.expected) for v in log.violations]
