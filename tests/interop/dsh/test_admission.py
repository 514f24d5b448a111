"""What that program demands of its rows is demanded here; how events stand to each other is only listed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.interop.dsh.samples import answer, call, closed, file, message, opened, result, user

from everlog.interop import dsh
from everlog.interop.dsh.vocabulary import OWN
from everlog.session import CORE


def with_message(**changes: Any) -> dict[str, Any]:
    return {**user(), "data": message("user", "hi") | changes}


@pytest.mark.parametrize(
    "changes",
    [{"id": None}, {"id": 5}, {"role": "assistant"}, {"content": "hi"}, {"content": None}, {"content": ["hi"]},
     {"content": [None]}, {"content": [{"text": "hi"}]}, {"source": None}, {"source": "user"}, {"source": {}}],
)  # fmt: skip
def test_what_is_no_message_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(dsh.LogDamaged, match="event 0"):
        dsh.read(file([with_message(**changes)]))


@pytest.mark.parametrize("changes", [{"content": []}, {"content": [{"type": "zzz"}]}, {"source": {"kind": "martian"}}])
def test_kinds_that_are_not_known_are_kept(changes: dict[str, Any]) -> None:
    assert dsh.read(file([with_message(**changes)])).events[0].data == message("user", "hi") | changes


@pytest.mark.parametrize("envelope", [
    {"time": None}, {"time": 1.5}, {"time": True}, {"time": 2**53}, {"ignorable": None}, {"ignorable": False},
    {"ignorable": 1}, {"surfaceOp": "prepend"}, {"surfaceOp": None}, {"surfaceOp": ["replace", 0, 0]},
    {"surfaceOp": {"op": "replace", "start": 0}}, {"surfaceOp": {"op": "replace", "start": 0.5, "end": 1}},
    {"surfaceOp": {"op": "replace", "start": 0, "end": 0, "more": 1}},
    {"surfaceOp": {"op": "cut", "start": 0, "end": 0}},
    {"surfaceOp": {"op": "replace", "startSeq": 0, "endSeq": 0}}, {"sourceEventSeqs": None}, {"sourceEventSeqs": [0.5]},
    {"sourceEventSeqs": ["0"]}, {"sourceEventSeqs": [-1]}, {"sourceEventSeqs": {}},
])  # fmt: skip
def test_an_envelope_of_another_form_is_refused(envelope: dict[str, Any]) -> None:
    row = {**user(1), "seq": 1, "time": 1} | envelope
    with pytest.raises(dsh.LogDamaged, match="event 1"):
        dsh.read(file([user(), row]))


def test_an_event_without_data_is_refused() -> None:
    with pytest.raises(dsh.LogDamaged, match="event 0"):
        dsh.read(file([{"type": "todo/write"}]))


def test_keys_of_the_envelope_that_are_not_known_are_kept() -> None:
    event = dsh.read(file([{**user(), "trace": "t"}])).events[0]
    assert b'"trace":"t"' in event.to_json()


@pytest.mark.parametrize(
    "header",
    [None, {}, {"config": {"model": "m"}}, {"config": {"provider": "p", "model": "m", "reasoningEffort": None}},
     {"config": {"provider": "p", "model": "m"}, "adapterDefaults": {"maxTokens": True}}],
)  # fmt: skip
def test_a_request_header_of_another_form_is_refused(header: Any) -> None:
    with pytest.raises(dsh.LogDamaged, match="event 2"):
        dsh.read(file(opened({"type": "request/header", "data": {"header": header, "reason": "initial"}})))


@pytest.mark.parametrize("type", [None, 5, ["turn/end"], {}])
def test_a_type_that_is_no_text_is_an_unknown_one(type: Any) -> None:
    with pytest.raises(dsh.UnknownEvent, match="undefined"):
        dsh.read(file([{"type": type, "data": {}}]))


@pytest.mark.parametrize("type", sorted(OWN - CORE.keys() - {"agent/inbox/spliced"}))
def test_a_type_of_that_program_without_a_name_here_is_kept_as_one_to_skip(type: str) -> None:
    event = dsh.read(file([{"type": type, "data": {"any": 1}}])).events[0]
    assert (event.type, event.ignorable, event.data) == (type, True, {"any": 1})


def test_a_log_of_that_program_without_violations_has_none() -> None:
    rows = closed(user(2), answer("c"), call("c"), result("c"), {"type": "hook/result", "data": {}})
    assert dsh.read(file(rows)).violations == ()


def test_a_number_that_no_value_can_hold_is_refused_where_it_stands() -> None:
    data = file([user(), {"type": "todo/write", "data": {"n": "X"}}]).replace(b'"X"', b"1e400")
    with pytest.raises(dsh.LogDamaged, match="event 1"):
        dsh.read(data)
