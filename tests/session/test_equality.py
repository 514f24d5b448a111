"""Views and events are equal when their JSON is, and unequal when it is not."""

from operator import ne

from everlog.session import Session
from everlog.session.payloads import StepEnd, TurnStart


def test_equal_views_are_not_unequal() -> None:
    one, other = StepEnd(turn=1, step=1), StepEnd(turn=1, step=1)
    assert one == other
    assert not ne(one, other)
    assert not ne(one, {"turn": 1, "step": 1})
    assert one != StepEnd(turn=1, step=2)


def test_equal_events_are_not_unequal() -> None:
    one, other = (Session.create({"id": "a", "createdAt": 1}, clock=lambda: 5) for _ in range(2))
    first, second = one.append(TurnStart(turn=1)), other.append(TurnStart(turn=1))
    assert first == second
    assert not ne(first, second)
