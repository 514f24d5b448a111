"""Append commits an event completely or changes nothing, and says why it does not."""

from __future__ import annotations

import pytest
from tests.session.stories import Story

from everlog.session import AppendRefused, Replace, Session, read_event
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
