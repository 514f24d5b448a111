"""Append commits an event completely or changes nothing, and says why it does not."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum

import pytest
from tests.session.stories import Story

from everlog.session import AppendRefused, Replace, Session, read_event
from everlog.session.jsonvalue import NotJSON, decode, encode
from everlog.session.messages import Message, user_message
from everlog.session.payloads import SessionTitle, TurnStart


def as_it_was(session: Session) -> tuple[object, ...]:
    """Everything of a session that an append may change."""
    return [e.to_json() for e in session.events], session.surface.nodes, session.ledger.to_bytes(), session.next_seq


def test_a_typed_payload_that_is_not_json_is_refused_with_its_path() -> None:
    session = Session.create()
    with pytest.raises(AppendRefused) as refused:
        session.append(SessionTitle(title="half \ud83d"))
    assert (refused.value.type, refused.value.path) == ("session/title", "$.title")
    assert session.next_seq == 0


def test_a_payload_read_elsewhere_that_no_value_can_hold_is_refused() -> None:
    event = read_event(b'{"seq":0,"type":"turn/start","time":0,"data":{"turn":1,"extra":1e400}}')
    assert isinstance(event.data, TurnStart)
    with pytest.raises(AppendRefused, match="out of range"):
        Session.create().append(event.data)


def test_a_payload_read_elsewhere_keeps_its_own_bytes() -> None:
    own = (
        b'{"id": "x","role":"user",  "content":[{"type":"vendor/shape","n":1.50}],"source":{"kind":"user"},"more":[1]}'
    )
    event = read_event(b'{"seq":0,"type":"user/message","time":0,"surfaceOp":"append","data":%b}' % own)
    assert isinstance(event.data, Message)
    assert Session.create().append(event.data, "append").data_json == own


@pytest.mark.parametrize(
    ("surface", "sources"),
    [
        (None, None),
        ("replace", None),
        ({"op": "replace", "startSeq": 0}, [0]),
        ({"op": "replace", "startSeq": 0, "endSeq": 0, "more": 1}, [0]),
        (Replace(0, 5), [0]),
        (Replace(0, 0), None),
        (Replace(0, 0), []),
        (Replace(0, 0), [0, 0]),
        (Replace(0, 0), [0, 1]),
        (Replace(0, 0), [True]),
        (Replace(0, 0), "0"),
        ("append", []),
        ("append", [-1]),
        ("append", [1]),
    ],
)
def test_a_wrong_surface_operation_or_source_leaves_no_trace(surface: object, sources: object) -> None:
    story = Story()
    story.prompt("first")
    before = as_it_was(story.session)
    with pytest.raises(AppendRefused):
        story.session.append(user_message("second"), surface, sources)  # type: ignore[arg-type]
    assert as_it_was(story.session) == before


def test_a_log_only_type_carries_neither_operation_nor_sources() -> None:
    session = Session.create()
    for surface, sources in (("append", None), (None, [0])):
        with pytest.raises(AppendRefused):
            session.append(SessionTitle(title="x"), surface, sources)  # type: ignore[arg-type]
    assert session.next_seq == 0


@pytest.mark.parametrize(("type", "ignorable"), [("vendor/x", False), ("", True), (5, True), ("vendor/x", 1)])
def test_an_unknown_type_is_taken_only_when_readers_may_skip_it(type: object, ignorable: object) -> None:
    session = Session.create()
    with pytest.raises(AppendRefused):
        session.append_json(type, {}, ignorable=ignorable)  # type: ignore[arg-type]
    assert session.append_json("vendor/x", {"any": 1}, ignorable=True).data == {"any": 1}


class Own(str):
    """A text of a class of its own, as those of template engines are."""


class Number(int):
    """A number that shows itself as something else."""

    def __str__(self) -> str:
        return "many"


class Named(int, Enum):
    """One whose members print their names."""

    FIRST = 0


class Kind(StrEnum):
    """A type, named by an enum."""

    TITLE = "session/title"


class Level(IntEnum):
    """The enum that numbers have."""

    HIGH = 2


class Odd(StrEnum):
    """One whose values are not what its members hold."""

    def __new__(cls, value: int) -> Odd:
        """Hold a text under a number."""
        made = str.__new__(cls, "shown")
        made._value_ = value  # type: ignore[assignment]
        return made

    ONE = 1


@pytest.mark.parametrize("seq", [Named.FIRST, Number(0), 0.0])
def test_sources_and_ends_are_kept_as_the_numbers_that_they_are(seq: int) -> None:
    story = Story()
    story.prompt("first")
    cited = story.session.append(user_message("second"), "append", [seq])
    placed = story.session.append(user_message("third"), Replace(seq, seq), [seq])
    for event in (cited, placed):
        again = read_event(event.to_json())
        assert (again.source_event_seqs, again.surface_op) == (event.source_event_seqs, event.surface_op)
    assert again.source_event_seqs == (0,)


@pytest.mark.parametrize(("name", "ignorable"), [(Kind.TITLE, False), (Own("session/title"), True), (Own("x/y"), True)])
def test_a_type_of_a_class_of_its_own_is_kept_as_plain_text(name: str, ignorable: bool) -> None:
    event = Session.create().append_json(name, {"title": "x"}, ignorable=ignorable)
    assert type(event.type) is str
    assert read_event(event.to_json()).type == event.type == str.__str__(name)


def test_a_type_that_json_cannot_hold_is_refused() -> None:
    session = Session.create()
    with pytest.raises(AppendRefused, match="lone surrogate"):
        session.append_json("vendor/\ud800", {}, ignorable=True)
    assert session.next_seq == 0


@pytest.mark.parametrize(("value", "plain"), [(Own("é"), "é"), (Number(7), 7), (type("F", (float,), {})(0.5), 0.5)])
def test_texts_and_numbers_of_a_class_of_their_own_are_kept_as_what_they_hold(value: object, plain: object) -> None:
    assert decode(encode({"a": [value]})) == {"a": [plain]}
    assert decode(encode(Level.HIGH)) == 2
    assert decode(encode({Own("key"): Kind.TITLE})) == {"key": "session/title"}


def test_an_enum_whose_value_is_another_than_what_its_member_holds_is_refused() -> None:
    with pytest.raises(NotJSON, match=r"\$\.a\[0\].*Odd"):
        encode({"a": [Odd.ONE]})


def test_a_payload_read_elsewhere_that_stands_on_many_lines_is_kept_on_one() -> None:
    event = read_event(b'{"seq":0,"type":"session/title","time":0,"data":{"title":\r\n  "a\\nb",\n"n":1.50}}')
    kept = Session.create().append(event.data).data_json  # type: ignore[arg-type]
    assert kept == b'{"title":    "a\\nb", "n":1.50}'
