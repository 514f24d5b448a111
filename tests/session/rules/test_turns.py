"""Turns and steps are numbered, never nested, and what names a step names the open one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.rules.refusals import in_step, message, refused, replace, result
from tests.session.stories import Story, plain_turn

HEADER = {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"}
BODY = {"adapter": "a", "adapterVersion": "1", "sha256": "", "bytes": 0}


def test_turns_and_steps_follow_each_other() -> None:
    story = Story()
    for _ in range(3):
        story.turn()
        for _ in range(2):
            story.step(), story.end_step()
        story.end_turn()
    assert [e.data.turn for e in story.session.events if e.type == "turn/start"] == [1, 2, 3]
    assert [e.data.step for e in story.session.events if e.type == "step/start"] == [1, 2] * 3


@pytest.mark.parametrize("turn", [0, 1, 3, -1])
def test_a_turn_has_the_next_number(turn: int) -> None:
    story = Story()
    plain_turn(story)
    assert refused(story, "turn/start", {"turn": turn}) == ("turns.turn-start", f"turn 2, not {turn}")


def test_a_turn_does_not_start_in_a_turn() -> None:
    assert refused(in_step(), "turn/start", {"turn": 2}) == ("turns.turn-start", "turn 1 is still open")


def ending(turn: int) -> dict[str, Any]:
    return {"turn": turn, "reason": {"kind": "completed"}}


def test_a_turn_ends_once_by_its_number_and_closes_no_step() -> None:
    story = Story()
    assert refused(story, "turn/end", ending(1)) == ("turns.turn-end", "no turn is open")
    story.turn()
    assert refused(story, "turn/end", ending(2)) == ("turns.turn-end", "turn 1, not 2")
    story.step()
    assert refused(story, "turn/end", ending(1)) == ("turns.turn-end", "step 1 is still open")
    story.end_step(), story.end_turn()
    assert refused(story, "turn/end", ending(1)) == ("turns.turn-end", "no turn is open")


def test_a_step_starts_in_the_open_turn_with_the_next_number() -> None:
    story = Story()
    assert refused(story, "step/start", {"turn": 1, "step": 1}) == ("turns.step-start", "an open turn 1")
    story.turn()
    assert refused(story, "step/start", {"turn": 2, "step": 1}) == ("turns.step-start", "an open turn 2")
    assert refused(story, "step/start", {"turn": 1, "step": 2}) == ("turns.step-start", "step 1, not 2")
    story.step()
    assert refused(story, "step/start", {"turn": 1, "step": 2}) == ("turns.step-start", "step 1 is still open")


STEP_SCOPED = {
    "step/end": ({}, None),
    "system/message": ({"message": message("system", {"kind": "system-prompt"})}, "append"),
    "developer/message": ({"message": message("developer", {"kind": "plugin", "plugin": "p"})}, "append"),
    "request/sent": ({"attempt": 1, **BODY}, None),
    "assistant/chunk": ({"attempt": 1, "records": []}, None),
    "assistant/message": (
        {"message": message("assistant", {"kind": "model", "provider": "p", "model": "m"})},
        "append",
    ),
    "assistant/attempt": ({"attempt": 1}, None),
    "llm/retry": ({"attempt": 1, "delayMs": 0}, None),
    "tool/call": ({"callId": "c", "name": "read", "arguments": "{}"}, None),
    "tool/settled": ({"message": result("c")["message"]}, None),
    "tool/result": ({"message": result("c")["message"]}, "append"),
}


@pytest.mark.parametrize("type", STEP_SCOPED)
def test_what_belongs_to_a_step_names_the_open_one(type: str) -> None:
    data, surface = STEP_SCOPED[type]
    outside = refused(Story(), type, {"turn": 1, "step": 1, **data}, surface)
    assert outside == ("turns.in-step", "an open step; turn 1, step 1 is not")
    for turn, step in ((1, 2), (2, 1), (0, 0)):
        rule, expected = refused(in_step(), type, {"turn": turn, "step": step, **data}, surface)
        assert rule == "turns.in-step"
        assert expected == f"turn 1, step 1, which is open, not turn {turn}, step {step}"


@pytest.mark.parametrize(
    ("type", "data"), [("request/header", HEADER), ("request/context", {"provider": "p", "model": "m"})]
)
def test_headers_and_contexts_stand_inside_a_step(type: str, data: Any) -> None:
    story = Story()
    assert refused(story, type, data) == ("turns.any-step", "a place inside a step")
    story.turn()
    assert refused(story, type, data) == ("turns.any-step", "a place inside a step")
    story.step()
    story.session.append_json(type, data)


@pytest.mark.parametrize(("type", "data"), [("todo/write", {"todos": []}), ("workspace/snapshot", {"commit": "c"})])
def test_lists_and_snapshots_stand_inside_a_turn(type: str, data: Any) -> None:
    story = Story()
    assert refused(story, type, data) == ("turns.any-turn", "a place inside a turn")
    story.turn()
    story.session.append_json(type, data)


@pytest.mark.parametrize(
    ("type", "data"),
    [
        ("session/title", {"title": "t"}),
        ("session/end-seed", {}),
        ("inbox/spliced", {"target": "next-turn", "start": 0, "inserted": []}),
        ("approval/asked", {"id": "a", "toolName": "read"}),
        (
            "request/side",
            {"id": "s", "purpose": "t", "prefix": "none", **BODY, "header": HEADER["header"], "messages": []},
        ),
    ],
)
def test_everything_else_stands_anywhere(type: str, data: Any) -> None:
    for story in (Story(), in_step()):
        story.session.append_json(type, data)


def test_a_replacement_names_the_step_of_what_it_replaces_and_not_the_open_one() -> None:
    story = in_step()
    old = story.developer("old").seq
    story.end_step(), story.step()
    data = {"message": message("developer", {"kind": "plugin", "plugin": "p"})}
    rule, expected = refused(story, "developer/message", {"turn": 1, "step": 2, **data}, replace(old, old), [old])
    assert (rule, expected) == ("surface.place", "the turn and step of what it replaces")
    story.session.append_json("developer/message", {"turn": 1, "step": 1, **data}, replace(old, old), [old])
