"""What the log gave cannot be changed from outside: a try raises, or changes the caller's own copy only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.session.plain import everything
from tests.session.stories import Story

from everlog import to_json
from everlog.session import Session
from everlog.session.messages import Text, ToolCall, user_message
from everlog.session.payloads import InboxItem, InboxSpliced, Todo, TodoWrite


def full() -> Story:
    """A story whose log holds every kind of value that could be reached for."""
    story = Story()
    story.queue("waiting"), story.turn(), story.step(), story.system("be brief"), story.prompt("go")
    story.header(stop=["a", {"b": [1]}]), story.context(), story.sent(), story.chunk("hi")
    story.answer("hi", calls=["a", "b"]), story.call("a")
    turn, step = story.at
    block = {"type": "tool-result", "toolCallId": "a", "content": [{"type": "odd", "deep": [1]}], "isError": False}
    message = {"id": "r", "role": "user", "content": [block], "source": {"kind": "tool", "callId": "a"}}
    data = {"turn": turn, "step": step, "message": message, "meta": {"rows": [{"n": 1}]}}
    story.session.append_json("tool/result", data, "append", [story.session.next_seq - 1])
    story.session.append_json("vendor/note", {"list": [1, {"deep": True}]}, ignorable=True)
    story.session.append_json("todo/write", {"todos": [{"content": "x", "status": "pending"}]})
    story.side("s", "name it")
    return story


def of(session: Session, type: str) -> Any:
    return next(event for event in session.events if event.type == type)


# -- the caller's own objects


def test_what_the_caller_gave_may_be_changed_afterwards() -> None:
    session = Session.create()
    data: dict[str, Any] = {"list": [1, {"deep": [True]}]}
    sources: list[Any] = [0]
    session.append_json("vendor/note", data, ignorable=True)
    message = user_message("x").value()
    session.append_json("user/message", message, "append", sources)
    before = everything(session)
    data["list"][1]["deep"].append(float("nan"))
    data["more"] = object()
    message["content"].clear()  # type: ignore[union-attr]
    sources.append("x")
    assert everything(session) == before


def test_a_list_inside_a_typed_payload_may_be_changed_afterwards() -> None:
    session = Session.create()
    session.append_json("turn/start", {"turn": 1})
    todos: Any = [Todo(content="a", status="pending")]
    event = session.append(TodoWrite(todos=todos))
    items: Any = [InboxItem(message=user_message("x", id="i"), wakes=True)]
    session.append(InboxSpliced(target="next-turn", start=0, inserted=items))
    before = everything(session)
    todos.append("not even a to-do")
    items.clear()
    assert everything(session) == before
    assert isinstance(event.data, TodoWrite)
    assert [todo.content for todo in event.data.todos] == ["a"]


def test_a_header_object_may_be_changed_afterwards() -> None:
    header: dict[str, Any] = {"id": "x", "createdAt": 1, "cwd": "/w", "more": {"deep": [1]}}
    session = Session.create(header)
    before = to_json(session.header)
    header["more"]["deep"].append(2)
    header["id"] = "y"
    assert to_json(session.header) == before


# -- what the log gave

RAISES: dict[str, Callable[[Session], object]] = {
    "an event's seq": lambda s: setattr(s.events[0], "seq", 9),
    "an event's data": lambda s: setattr(s.events[0], "data", {}),
    "an event's bytes": lambda s: setattr(s.events[0], "data_json", b"{}"),
    "a new attribute of an event": lambda s: setattr(s.events[0], "mine", 1),
    "deleting from an event": lambda s: delattr(s.events[0], "type"),
    "the sources of an event": lambda s: of(s, "tool/result").source_event_seqs.append(1),
    "a surface operation": lambda s: setattr(s.events[-1].surface_op, "start_seq", 0),
    "a payload": lambda s: setattr(of(s, "turn/start").data, "turn", 5),
    "an item of a payload": lambda s: of(s, "turn/start").data.__setitem__("turn", 5),
    "a message": lambda s: setattr(s.messages()[0], "role", "user"),
    "the content of a message": lambda s: s.messages()[0].content.append(Text(text="x")),  # type: ignore[attr-defined]
    "a block": lambda s: setattr(s.messages()[1].content[0], "text", "x"),
    "the source of a message": lambda s: setattr(s.messages()[2].source, "model", "other"),
    "the list of messages": lambda s: s.messages().append(None),  # type: ignore[attr-defined]
    "an entry of the messages": lambda s: s.messages().__setitem__(0, None),  # type: ignore[attr-defined]
    "the events": lambda s: s.events.append(None),  # type: ignore[attr-defined]
    "an entry of the events": lambda s: s.events.__setitem__(0, None),  # type: ignore[attr-defined]
    "the nodes": lambda s: s.surface.nodes.append(1),  # type: ignore[attr-defined]
    "the generation": lambda s: setattr(s.surface, "generation", 9),
    "the header": lambda s: setattr(s.header, "id", "x"),
    "the request header": lambda s: setattr(s.request_header(), "config_json", b"{}"),
    "the vocabulary": lambda s: s.vocabulary.__setitem__("x", None),  # type: ignore[attr-defined]
    "the to-dos": lambda s: s.project("todos").append(None),
    "a to-do": lambda s: setattr(s.project("todos")[0], "content", "x"),
    "a step": lambda s: setattr(s.project("steps")[0], "model", "x"),
    "the requests": lambda s: s.project("request").__setitem__((1, 1, 1), None),
}


@pytest.mark.parametrize("what", RAISES)
def test_a_try_to_change_it_raises(what: str) -> None:
    story = full()
    story.result("b", code="TOOL_NOT_STARTED"), story.system("be briefer")
    before = everything(story.session)
    with pytest.raises((AttributeError, TypeError)):
        RAISES[what](story.session)
    assert everything(story.session) == before


OWN_COPY: dict[str, Callable[[Session], object]] = {
    "data of an unknown type": lambda s: of(s, "vendor/note").data["list"][1].clear(),
    "the value of a payload": lambda s: of(s, "tool/result").data.value().clear(),
    "an item of a payload": lambda s: of(s, "tool/result").data["message"].clear(),
    "meta": lambda s: of(s, "tool/result").data.meta["rows"][0].update(n=9),
    "an unknown block": lambda s: s.messages()[3].result.content[0].value()["deep"].append(9),  # type: ignore
    "the configuration": lambda s: s.request_header().config["stop"][1].clear(),  # type: ignore
    "the tools": lambda s: s.request_header().tools.clear(),  # type: ignore
    "the config of a request": lambda s: s.project("request")[1, 1, 1].request.config.clear(),
    "the tools of a request": lambda s: s.project("request")[1, 1, 1].request.tools.clear(),
    "the records of a chunk": lambda s: of(s, "assistant/chunk").data.records.clear(),
    "a record of the stream": lambda s: next(iter(s.project("stream"))).delta.__class__,
    "a slice of the messages": lambda s: s.messages()[0:2].clear(),  # type: ignore[attr-defined]
    "a slice of the events": lambda s: s.events[0:2].clear(),  # type: ignore[attr-defined]
    "the transcript": lambda s: s.transcript().clear(),
    "the steps": lambda s: s.project("steps").clear(),
    "the timeline": lambda s: s.project("timeline").clear(),
    "the side requests": lambda s: s.project("request").sides.clear(),
    "the messages of a side request": lambda s: s.project("request").sides["s"].request.messages.clear(),
    "the sums": lambda s: s.project("usage").steps.clear(),
    "the json of a message": lambda s: bytearray(to_json(s.messages()[0])).clear(),
}


@pytest.mark.parametrize("what", OWN_COPY)
def test_what_can_be_changed_is_the_callers_own_copy(what: str) -> None:
    session = full().session
    before = everything(session)
    OWN_COPY[what](session)
    assert everything(session) == before


def test_views_of_before_are_as_they_were_after_appends_and_replaces() -> None:
    story = full()
    story.result("b", code="TOOL_NOT_STARTED"), story.end_step()
    session = story.session
    messages, nodes, events = session.messages(), session.surface.nodes, list(session.events)
    before = [to_json(message) for message in messages], nodes, [to_json(event) for event in events]
    story.compact(nodes[1], nodes[-1])
    story.end_turn(), story.turn(), story.step(), story.system("other"), story.prompt("more")
    assert ([to_json(message) for message in messages], nodes, [to_json(event) for event in events]) == before
    assert len(messages) == 5
    assert [message.role for message in session.messages()] == ["system", "user", "user"]


def test_a_payload_that_was_appended_is_not_what_the_log_gives() -> None:
    session = Session.create()
    call = ToolCall(id="c", name="read", arguments="{}")
    given = user_message([Text(text="x"), call])
    event = session.append(given, "append")
    assert event.data is not given
    assert event.data == given
