"""What is no message is refused where it would be appended; what is one of a kind not known yet is kept."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.stories import Story

from everlog.session import AppendRefused, Session


def user(**changes: Any) -> dict[str, Any]:
    return {"id": "m", "role": "user", "content": [], "source": {"kind": "user"}} | changes


@pytest.mark.parametrize("source", [None, 5, "user", [], {}, {"kind": 1}])
def test_a_source_without_a_kind_is_refused(source: object) -> None:
    with pytest.raises(AppendRefused, match="an object with a kind"):
        Session.create().append_json("user/message", user(source=source), "append")


@pytest.mark.parametrize("block", [None, 5, "text", [], {}, {"type": 1}])
def test_a_block_without_a_type_is_refused(block: object) -> None:
    with pytest.raises(AppendRefused, match="an object with a type"):
        Session.create().append_json("user/message", user(content=[block]), "append")


@pytest.mark.parametrize(
    "changes", [{"source": {"kind": "martian", "x": 1}}, {"content": [{"type": "hologram", "x": [1]}]}]
)
def test_a_kind_that_is_not_known_yet_is_kept(changes: dict[str, Any]) -> None:
    session = Session.create()
    session.append_json("user/message", user(**changes), "append")
    assert session.messages()[0].value() == user(**changes)


@pytest.mark.parametrize("source", [{"kind": "tool", "callId": "other"}, {"kind": "user"}, {"kind": "tool"}])
def test_a_result_whose_source_names_another_call_is_refused(source: dict[str, Any]) -> None:
    story = Story()
    story.turn()
    story.step()
    story.answer(calls=["c"])
    story.call("c")
    block = {"type": "tool-result", "toolCallId": "c", "content": [], "isError": False}
    data = {"turn": 1, "step": 1, "message": user(content=[block], source=source)}
    with pytest.raises(AppendRefused, match="name the call"):
        story.session.append_json("tool/result", data, "append")


def test_an_error_beside_a_block_that_is_none_is_refused() -> None:
    story = Story()
    story.turn()
    story.step()
    story.answer(calls=["c"])
    story.call("c")
    block = {"type": "tool-result", "toolCallId": "c", "content": [], "isError": False}
    message = user(content=[block], source={"kind": "tool", "callId": "c"})
    data = {"turn": 1, "step": 1, "message": message, "error": {"name": "E", "code": "C"}}
    with pytest.raises(AppendRefused, match="says isError"):
        story.session.append_json("tool/result", data, "append")


@pytest.mark.parametrize(
    "reason",
    [
        {"kind": "error"},
        {"kind": "error", "error": None},
        {"kind": "error", "error": "it broke"},
        {"kind": "aborted", "reason": "user"},
        {"kind": "aborted", "reason": {}},
        {"kind": "aborted", "reason": None},
    ],
)
def test_a_reason_that_does_not_say_why_is_refused(reason: dict[str, Any]) -> None:
    session = Session.create()
    session.append_json("turn/start", {"turn": 1})
    with pytest.raises(AppendRefused):
        session.append_json("turn/end", {"turn": 1, "reason": reason})


@pytest.mark.parametrize(
    "reason",
    [
        {"kind": "error", "error": {"message": "it broke"}},
        {"kind": "error", "step": 1, "message": "it broke"},
        {"kind": "error", "step": 1, "failure": {"message": "it broke"}},
        {"kind": "aborted"},
        {"kind": "aborted", "reason": {"kind": "hook", "reason": "no"}},
        {"kind": "newer", "reason": 5},
    ],
)
def test_a_reason_that_does_is_taken_in_the_words_of_older_logs_too(reason: dict[str, Any]) -> None:
    session = Session.create()
    session.append_json("turn/start", {"turn": 1})
    assert session.append_json("turn/end", {"turn": 1, "reason": reason}).data == {"turn": 1, "reason": reason}


def test_a_header_for_a_retired_reason_is_refused() -> None:
    story = Story()
    story.turn()
    story.step()
    with pytest.raises(AppendRefused, match="retired"):
        story.header(reason="fallback")
