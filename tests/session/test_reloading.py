"""A log that was kept elsewhere goes on as a session."""

from __future__ import annotations

import pytest
from tests.session.stories import Story, plain_turn

from everlog import to_json
from everlog.session import RuleViolation, Session, new_header
from everlog.session.reloading import reload


def types(session: Session) -> list[str]:
    return [event.type for event in session.events]


def test_the_events_are_the_same_bytes_and_the_next_turn_follows() -> None:
    story = Story()
    plain_turn(story)
    session = reload(story.session.header, story.session.events)
    assert [to_json(event) for event in session.events][:-1] == [to_json(event) for event in story.session.events]
    assert types(session)[-1] == "session/end-seed"
    plain_turn(Story(session))
    assert session.ledger.turns.last == 2


def test_an_open_turn_is_closed_first() -> None:
    story = Story()
    story.turn()
    story.step()
    assert types(reload(story.session.header, story.session.events))[-3:] == [
        "step/end",
        "turn/end",
        "session/end-seed",
    ]


def test_reloading_twice_adds_nothing_twice() -> None:
    story = Story()
    plain_turn(story)
    once = reload(story.session.header, story.session.events)
    assert types(reload(once.header, once.events)) == types(once)


def test_an_empty_log_stays_empty() -> None:
    assert types(reload(new_header(), ())) == []


def test_a_log_that_breaks_a_rule_is_no_session() -> None:
    story = Story()
    plain_turn(story)
    events = list(story.session.events)
    with pytest.raises(RuleViolation):
        reload(story.session.header, events[1:])
