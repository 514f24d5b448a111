"""An event is one immutable entry whose data can always be asked for."""

from __future__ import annotations

import pytest

from everlog.session.event import read_event
from everlog.session.payloads import TurnStart


def line(type: str, data: str) -> bytes:
    return f'{{"seq":0,"type":"{type}","time":1,"data":{data},"ignorable":true}}'.encode()


@pytest.mark.parametrize("type", ["turn/start", "user/message", "todo/write", "vendor/note"])
@pytest.mark.parametrize("data", ["1e400", '{"a":[1e400]}', "9" * 5000, "[" * 800 + "]" * 800, "null", "[]", '"text"'])
def test_data_of_any_json_can_be_asked_for(type: str, data: str) -> None:
    event = read_event(line(type, data))
    _ = event.data
    assert event.to_json() == line(type, data)


def test_json_that_no_value_can_hold_is_given_as_its_text() -> None:
    assert read_event(line("vendor/note", '{"a":1e400}')).data == '{"a":1e400}'


def test_known_data_that_fits_keeps_its_view_beside_keys_that_no_value_can_hold() -> None:
    event = read_event(line("turn/start", '{"turn":1,"extra":1e400}'))
    assert isinstance(event.data, TurnStart)


def test_nesting_beyond_what_a_reader_takes_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested deeper"):
        read_event(line("vendor/note", "[" * 6000 + "]" * 6000))


def test_an_event_cannot_be_changed() -> None:
    event = read_event(line("turn/start", '{"turn":1}'))
    with pytest.raises(AttributeError):
        event.seq = 5  # type: ignore[misc]
    with pytest.raises(AttributeError):
        event.data.turn = 5  # type: ignore[union-attr]
