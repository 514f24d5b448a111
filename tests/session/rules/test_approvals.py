"""A decision names an ask, once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.rules.refusals import refused
from tests.session.stories import Story

OUTCOMES = ["allowed-once", "allowed-always", "rejected", "cancelled", "unavailable"]


def ask(id: str) -> dict[str, Any]:
    return {"id": id, "toolName": "bash"}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_ask_may_be_decided_either_way(outcome: str) -> None:
    story = Story()
    story.session.append_json("approval/asked", ask("x"))
    story.session.append_json("approval/decided", {"id": "x", "outcome": outcome})


def test_an_ask_has_an_id_of_its_own() -> None:
    story = Story()
    story.session.append_json("approval/asked", ask("x"))
    expected = ("approvals.asked", "an id of its own; x was asked before")
    assert refused(story, "approval/asked", ask("x")) == expected
    story.session.append_json("approval/decided", {"id": "x", "outcome": "rejected"})
    assert refused(story, "approval/asked", ask("x")) == expected


def test_a_decision_names_what_was_asked_once() -> None:
    story = Story()
    decision = {"id": "x", "outcome": "rejected"}
    assert refused(story, "approval/decided", decision) == ("approvals.decided", "an id that was asked; x was not")
    story.session.append_json("approval/asked", ask("x"))
    story.session.append_json("approval/decided", decision)
    assert refused(story, "approval/decided", decision) == ("approvals.decided", "one decision; x is decided already")
