"""The time of an event is whole milliseconds that every reader holds exactly."""

from __future__ import annotations

from typing import Any

import pytest

from everlog.session import AppendRefused, Session


@pytest.mark.parametrize("time", [True, 1.5, None, float("nan"), float(2**60), "1", 2**53, -(2**53)])
def test_a_clock_that_gives_something_else_is_refused_and_nothing_is_appended(time: Any) -> None:
    session = Session.create({"id": "s", "createdAt": 0}, clock=lambda: time)
    with pytest.raises(AppendRefused, match="the clock gave"):
        session.append_json("turn/start", {"turn": 1})
    assert session.next_seq == 0


@pytest.mark.parametrize("time", [0, -1, 2**53 - 1, 1_000.0])
def test_the_clock_may_stand_anywhere(time: Any) -> None:
    session = Session.create(clock=lambda: time)
    assert session.append_json("turn/start", {"turn": 1}).time == time
