"""Typed views read what fits their class, and refuse the rest."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from tests.session.logs import foreign_rows
from tests.session.stories import Story

from everlog.session import CORE, AppendRefused, EventType, Session, read_event
from everlog.session.jsonvalue import encode, encode_plain
from everlog.session.views import Part


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


ODD = (
    '{"id":"a", "role":"user","content":[{"type":"text","text":"x","extra":1.50},'
    '{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"y","more":[2]}],"isError":false,"z":3}],'
    '"source":{"kind":"plugin","plugin":"p","k":"v"},"own":null}'
)
"""A message with a key that no view knows in each of its parts."""


@pytest.mark.parametrize("inner", ["", '{"type":"vendor/new","n":1},'])
def test_every_part_of_a_message_answers_from_its_own_bytes(inner: str) -> None:
    text = ODD.replace('"content":[{"type":"text","text":"y"', f'"content":[{inner}{{"type":"text","text":"y"')
    story = Story()
    story.turn(), story.step(), story.sent()
    whole = f'{{"seq":0,"type":"user/message","time":0,"data":{text},"surfaceOp":"append"}}'
    item = f'{{"target":"next-turn","start":0,"inserted":[{{"message":{text},"wakes":true}}]}}'
    splice = f'{{"seq":0,"type":"inbox/spliced","time":0,"data":{item}}}'
    nested = f'{{"seq":0,"type":"developer/message","time":0,"data":{{"turn":1,"step":1,"message":{text}}}}}'
    found: list[Any] = [read_event(line.encode()).data for line in (whole, splice, nested)]
    for message in (found[0], found[1].inserted[0].message, found[2].message):
        assert message.to_json() == text.encode()
        assert "own" in message
        assert message.source["k"] == "v"
        assert message.content[0].to_json() == b'{"type":"text","text":"x","extra":1.50}'
        assert message.content[1].get("z") == 3
        assert message.content[1].content[-1]["more"] == [2]


def test_an_event_keeps_what_no_view_knows_through_an_append() -> None:
    session = Session.create()
    event = session.append_json("user/message", json.loads(ODD), "append")
    for message in (event.data, session.messages()[0], session.fork().messages()[0]):
        assert message.content[0].get("extra") == 1.5
        assert message.source.get("k") == "v"


def outcome(kind: EventType, *judged: Any) -> object:
    """Give all that can be seen of a view and of what is in it, or the words of the refusal."""
    try:
        seen = kind.check(*judged)
    except ValueError as error:
        return str(error)
    if not isinstance(seen, Part):
        return shown(seen)
    view = kind.view(judged[0])
    for name in seen.__struct_fields__:
        assert shown(getattr(seen, name)) == shown(getattr(view, name))
    return shown(view)


def shown(part: Any) -> object:
    if isinstance(part, msgspec.Raw):
        return bytes(part)
    if isinstance(part, tuple):
        return [shown(item) for item in part]
    if not isinstance(part, msgspec.Struct):
        return type(part), part
    fields = {name: shown(getattr(part, name)) for name in part.__struct_fields__}
    return type(part).__name__, fields, json.loads(part.to_json())


@given(foreign_rows())
def test_a_value_is_judged_as_its_bytes_are(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        kind, data = CORE.get(row["type"]), row["data"]
        encoded = encode_plain(data)
        if kind is not None and encoded is not None:
            assert outcome(kind, encoded, data) == outcome(kind, encoded)


@pytest.mark.parametrize(
    "data",
    [
        {"turn": 1.0},
        {"turn": True},
        {"turn": 2**70},
        {"turn": "1"},
        {"turn": 1, "turn ": 2},
        {"turn": None},
        {},
        None,
        [],
        "text",
    ],
)
def test_numbers_are_the_same_numbers_in_a_value_as_in_bytes(data: object) -> None:
    kind = CORE["turn/start"]
    assert outcome(kind, encode(data), data) == outcome(kind, encode(data))


@pytest.mark.parametrize(
    "data",
    [
        {"turn": 1, "step": 1, "attempt": 1, "records": [{"kind": "text"}, 1.5, None]},
        {"turn": 1.0, "step": 2**70, "attempt": 1, "records": []},
        {"turn": 1, "step": 1, "attempt": 1, "records": [], "more": {"than": "this build knows"}},
        {"turn": True, "step": 1, "attempt": 1, "records": []},
        {"turn": 1, "step": 1, "attempt": "1", "records": []},
        {"turn": 1, "step": 1, "attempt": 1, "records": {}},
        {"turn": 1, "step": 1, "attempt": 1, "records": "[]"},
        {"turn": 1, "step": 1, "attempt": 1, "records": None},
        {"turn": 1, "step": 1, "attempt": 1},
        [],
        None,
    ],
)
def test_a_chunk_is_judged_by_a_part_of_its_value_as_by_its_bytes(data: object) -> None:
    kind = CORE["assistant/chunk"]
    assert outcome(kind, encode(data), data) == outcome(kind, encode(data))
