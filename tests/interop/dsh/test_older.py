"""Shapes from before the present form: what they become, and what has neither form."""

from __future__ import annotations

from typing import Any

import pytest
from tests.interop.dsh.samples import answer, call, file, message, opened, user

from everlog.interop import dsh

REASONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"kind": "aborted"}, {"kind": "aborted", "reason": {"kind": "legacy"}}),
    ({"kind": "aborted", "reason": {"kind": "user"}}, {"kind": "aborted", "reason": {"kind": "user"}}),
    ({"kind": "disposed"}, {"kind": "aborted", "reason": {"kind": "disposed"}}),
    (
        {"kind": "error", "step": 2, "failure": {"message": "m", "code": "C", "status": 500}},
        {"kind": "error", "error": {"message": "m", "code": "C", "status": 500}},
    ),
    ({"kind": "error", "step": 0, "message": "m"}, {"kind": "error", "error": {"message": "m", "code": "UNKNOWN"}}),
    (
        {"kind": "error", "step": 1, "message": "m", "code": "C"},
        {"kind": "error", "error": {"message": "m", "code": "C"}},
    ),
    ({"kind": "error", "error": {"message": "m"}}, {"kind": "error", "error": {"message": "m"}}),
    ({"kind": "completed"}, {"kind": "completed"}),
    ({"kind": "max-tokens"}, {"kind": "max-tokens"}),
    ({"kind": "newer", "anything": [1]}, {"kind": "newer", "anything": [1]}),
]


def ended(reason: Any, **data: Any) -> Any:
    rows = [
        {"type": "turn/start", "data": {"turn": 1}},
        {"type": "turn/end", "data": {"turn": 1, "reason": reason} | data},
    ]
    return dsh.read(file(rows)).events[1].data["reason"]


@pytest.mark.parametrize(("reason", "becomes"), REASONS)
def test_a_reason_becomes_its_present_form(reason: Any, becomes: Any) -> None:
    assert ended(reason) == becomes


@pytest.mark.parametrize(
    "reason",
    [
        *[{**reason, "more": 1} for reason, _ in REASONS if reason["kind"] != "newer"],
        None, "completed", {}, {"kind": 1}, {"kind": "error"}, {"kind": "error", "message": "m"},
        {"kind": "error", "step": -1, "message": "m"}, {"kind": "error", "step": 0, "message": "m", "code": 5},
        {"kind": "error", "step": 0, "failure": "m"}, {"kind": "aborted", "reason": "user"},
    ],
)  # fmt: skip
def test_a_reason_of_neither_form_is_refused(reason: Any) -> None:
    with pytest.raises(dsh.LogDamaged, match="event 1"):
        ended(reason)


@pytest.mark.parametrize("data", [{"turn": 0}, {"turn": True}, {"turn": "1"}, {"turn": 1, "more": 1}])
def test_a_turn_end_has_a_turn_and_a_reason_only(data: Any) -> None:
    with pytest.raises(dsh.LogDamaged, match="event 1"):
        ended({"kind": "completed"}, **data)


def test_what_triggered_a_turn_is_left_out() -> None:
    start = {"type": "turn/start", "data": {"turn": 1, "trigger": {"kind": "message", "source": {}}}}
    assert dsh.read(file([start])).events[0].data == {"turn": 1}


@pytest.mark.parametrize("data", [{"trigger": {}}, {"trigger": None}, {"trigger": {"kind": "x"}, "more": 1}])
def test_a_trigger_of_another_form_is_refused(data: Any) -> None:
    with pytest.raises(dsh.LogDamaged, match="event 0"):
        dsh.read(file([{"type": "turn/start", "data": {"turn": 1, **data}}]))


CONTENT = [{"type": "text", "text": "hi"}]
SOURCE = {"kind": "user", "rpcId": "r"}


def only(row: Any) -> Any:
    return dsh.read(file([row])).events[0]


def test_steering_becomes_a_user_message() -> None:
    whole = {
        "type": "steering/message",
        "data": {"turn": 1, "message": message("user", "hi", "q")},
        "surfaceOp": "append",
    }
    flat = {
        "type": "steering/message",
        "data": {"turn": 1, "content": CONTENT, "source": SOURCE},
        "surfaceOp": "append",
    }
    assert (only(whole).type, only(whole).data) == ("user/message", message("user", "hi", "q"))
    assert only(flat).data == {"content": CONTENT, "source": SOURCE, "id": "legacy-message:s:0", "role": "user"}


@pytest.mark.parametrize("data", [None, {}, {"turn": 1}, {"turn": 1, "message": message("user", "hi"), "more": 1}])
def test_steering_of_another_form_is_refused(data: Any) -> None:
    with pytest.raises(dsh.LogDamaged, match="event 0"):
        only({"type": "steering/message", "data": data, "surfaceOp": "append"})


def test_a_user_message_gets_an_id_and_a_role() -> None:
    row = {"type": "user/message", "data": {"content": CONTENT, "source": SOURCE}, "surfaceOp": "append"}
    assert only(row).data == {"content": CONTENT, "source": SOURCE, "id": "legacy-message:s:0", "role": "user"}


def test_a_flat_answer_becomes_one_with_a_message_and_keeps_the_rest() -> None:
    data = {
        "turn": 1,
        "step": 1,
        "content": CONTENT,
        "provenance": {"provider": "p", "model": "m", "x": 1},
        "usage": {},
    }
    event = dsh.read(file(opened({"type": "assistant/message", "data": data, "surfaceOp": "append"}))).events[2]
    source = {"provider": "p", "model": "m", "x": 1, "kind": "model"}
    said = {"id": "legacy-message:s:2", "role": "assistant", "content": CONTENT, "source": source}
    assert event.data == {"turn": 1, "step": 1, "usage": {}, "message": said}


def flat_result(**envelope: Any) -> dict[str, Any]:
    data = {"turn": 1, "step": 1, "callId": "c", "content": CONTENT, "isError": True, "meta": {"a": 1}}
    return {"type": "tool/result", "data": data, "surfaceOp": "append"} | envelope


def test_a_flat_result_becomes_one_with_a_message_and_keeps_the_rest() -> None:
    event = dsh.read(file(opened(answer("c"), call("c"), flat_result()))).events[4]
    block = {"type": "tool-result", "toolCallId": "c", "content": CONTENT, "isError": True}
    said = {"id": "legacy-message:s:4", "role": "user", "content": [block], "source": {"kind": "tool", "callId": "c"}}
    assert event.data == {"turn": 1, "step": 1, "meta": {"a": 1}, "message": said}


def test_a_flat_replacement_has_the_id_of_what_it_replaces() -> None:
    replaced = flat_result(surfaceOp={"op": "replace", "start": 4, "end": 4}, sourceEventSeqs=[4])
    log = dsh.read(file(opened(answer("c"), call("c"), flat_result(), replaced)))
    assert log.events[5].data.message.id == "legacy-message:s:4"
    assert log.violations == ()


@pytest.mark.parametrize(
    "row",
    [
        {"type": "mode/set", "data": {}},
        {"type": "request/header-delta", "data": {}},
        {"type": "mode/set", "data": {}, "ignorable": True},
        {
            "type": "request/header",
            "data": {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "fallback"},
        },
    ],
)
def test_retired_forms_are_refused(row: Any) -> None:
    with pytest.raises(dsh.LogDamaged, match="retired"):
        only(row)


def test_a_retired_form_is_told_before_an_unknown_type_and_that_before_a_bad_envelope() -> None:
    retired, unknown = {"type": "mode/set", "data": {}}, {"type": "future/thing", "data": {}}
    odd = {**user(), "surfaceOp": "prepend"}
    with pytest.raises(dsh.LogDamaged, match="event 2"):
        dsh.read(file([odd, unknown, retired]))
    with pytest.raises(dsh.UnknownEvent, match="future/thing at seq 1"):
        dsh.read(file([odd, unknown]))
    with pytest.raises(dsh.LogDamaged, match="event 0"):
        dsh.read(file([odd]))
