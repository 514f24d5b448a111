"""Typed views read what fits their class, and refuse the rest."""

from __future__ import annotations

import pytest
from tests.session.stories import Story

from everlog.session import AppendRefused


def test_null_does_not_stand_for_a_nested_view_that_must_be_there() -> None:
    story = Story()
    story.turn()
    with pytest.raises(AppendRefused):
        story.session.append_json("turn/end", {"turn": 1, "reason": None})
    with pytest.raises(AppendRefused):
        story.session.append_json("system/message", {"turn": 1, "step": 1, "message": None}, "append")


def test_null_stands_for_an_optional_one() -> None:
    story = Story()
    story.turn(), story.step()
    event = story.session.append_json("assistant/attempt", {"turn": 1, "step": 1, "attempt": 1, "failure": None})
    assert event.data.failure is None
