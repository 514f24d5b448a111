"""A fork is taken at an event that the log has and that no turn spans."""

from __future__ import annotations

from typing import Any

import pytest

from everlog import to_json
from everlog.session import ForkRefused, Session
from everlog.session.messages import user_message


def two_turns() -> Session:
    session = Session.create()
    for turn in (1, 2):
        session.append_json("turn/start", {"turn": turn})
        session.append_json("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
    return session


@pytest.mark.parametrize("at", [-1, 4, 40, 0.5, 1.0, True])
def test_a_seq_that_the_log_does_not_have_is_refused_as_such(at: Any) -> None:
    with pytest.raises(ForkRefused) as refused:
        two_turns().fork(at=at)
    assert refused.value.code == "INVALID_BOUNDARY"


def test_a_seq_inside_a_turn_is_refused_with_the_boundaries_around_it() -> None:
    with pytest.raises(ForkRefused) as refused:
        two_turns().fork(at=2)
    assert (refused.value.code, refused.value.before, refused.value.after) == ("OPEN_TURN", 1, 3)


def test_a_fork_of_an_empty_session_is_an_empty_session() -> None:
    child = Session.create().fork()
    assert [event.type for event in child.events] == ["session/end-seed"]


def test_the_parent_is_as_it_was() -> None:
    parent = two_turns()
    before = [to_json(event) for event in parent.events]
    parent.fork(at=1).append_json("turn/start", {"turn": 2})
    assert [to_json(event) for event in parent.events] == before


def test_neither_a_fork_nor_its_parent_sees_what_the_other_says_at_the_same_seq() -> None:
    parent = two_turns()
    parent.append(user_message("before"), "append")
    child, late = parent.fork(), parent.fork()
    parent.append(user_message("parent's own"), "append")
    parent.append(user_message("parent's second"), "append")
    assert [message.text for message in parent.messages()] == ["before", "parent's own", "parent's second"]
    child.append(user_message("child's own"), "append")
    assert [message.text for message in child.messages()] == ["before", "child's own"]
    late.append(user_message("later child's"), "append")
    assert [message.text for message in late.messages()] == ["before", "later child's"]
    assert [message.text for message in parent.messages()] == ["before", "parent's own", "parent's second"]
