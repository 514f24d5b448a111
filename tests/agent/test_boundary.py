"""A request is what the log says it is, or it is stopped with the name of its first part that differs."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import force_setattr, replace

from everlog.agent.boundary import Boundary, RequestDiffers, difference
from everlog.session import Message, Messages, Replace, Session
from everlog.session.messages import Image, Text, ToolCall, model_source, system_message, tool_message, user_message
from everlog.session.payloads import (
    AssistantMessage,
    RequestHeader,
    RequestHeaderEvent,
    RequestSent,
    StepEnd,
    StepStart,
    SystemMessage,
    ToolCallEvent,
    ToolResultEvent,
    TurnStart,
)
from everlog.session.request import Request
from everlog.session.views import json_raw

TOOLS = [{"name": "read", "description": "Read a file.", "parameters": {"type": "object", "properties": {}}}]
CONFIG = {"provider": "test", "model": "m", "temperature": 0.5}


def header(config: dict[str, Any] = CONFIG, tools: list[dict[str, Any]] = TOOLS) -> RequestHeader:
    return RequestHeader(config_json=json_raw(config), tools_json=json_raw(tools))


@pytest.fixture
def session() -> Session:
    session = Session.create()
    session.append(TurnStart(turn=1))
    session.append(StepStart(turn=1, step=1))
    session.append(SystemMessage(turn=1, step=1, message=system_message("Be good.")), "append")
    session.append(user_message("hello", id="u1"), "append")
    session.append(RequestHeaderEvent(header=header(), reason="initial", starts_series=True))
    sent(session)
    return session


def sent(session: Session) -> None:
    turns, attempts = session.ledger.turns, session.ledger.attempts
    session.append(
        RequestSent(
            turn=turns.last,
            step=turns.step,
            attempt=attempts.last + 1,
            adapter="test",
            adapter_version="1",
            sha256="0",
            bytes=1,
        )
    )


def step_on(session: Session, text: str, step: int) -> None:
    """Answer the open step, and begin the next with its request logged."""
    message = Message(id=f"a{step}", role="assistant", content=(Text(text=text),), source=model_source("test", "m"))
    session.append(AssistantMessage(turn=1, step=step, message=message), "append")
    session.append(StepEnd(turn=1, step=step))
    session.append(StepStart(turn=1, step=step + 1))
    session.append(user_message(f"more {step}"), "append")
    sent(session)


def test_the_derived_request_passes_at_every_step(session: Session) -> None:
    boundary = Boundary(session)
    for step in range(1, 5):
        boundary.check(boundary.derive())
        step_on(session, "fine", step)
    boundary.check(boundary.derive())


def test_an_equal_copy_passes(session: Session) -> None:
    request = Boundary(session).derive()
    Boundary(session).check(Request(header(), list(request.messages)))


def edited(request: Request) -> Request:
    messages = list(request.messages)
    messages[1] = replace(messages[1], content=(Text(text="goodbye"),))
    return Request(request.header, messages)


def dropped(request: Request) -> Request:
    return Request(request.header, request.messages[:-1])


def swapped(request: Request) -> Request:
    return Request(request.header, [request.messages[1], request.messages[0]])


def added(request: Request) -> Request:
    return Request(request.header, [*request.messages, user_message("and be quick")])


def another_prompt(request: Request) -> Request:
    messages = [system_message("Be bad.", id=request.messages[0].id), *request.messages[1:]]
    return Request(request.header, Messages(messages))


def new_schema(request: Request) -> Request:
    return Request(header(tools=[{**TOOLS[0], "parameters": {"type": "object"}}]), request.messages)


def tool_added(request: Request) -> Request:
    return Request(header(tools=[*TOOLS, {**TOOLS[0], "name": "rm"}]), request.messages)


def warmer(request: Request) -> Request:
    return Request(header(config={**CONFIG, "temperature": 0.9}), request.messages)


def option_gone(request: Request) -> Request:
    return Request(header(config={"provider": "test", "model": "m"}), request.messages)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (edited, "messages[1].content[0].text"),
        (dropped, "messages[1]"),
        (swapped, "messages[0].id"),
        (added, "messages[2]"),
        (another_prompt, "messages[0].content[0].text"),
        (new_schema, "tools[0].parameters.properties"),
        (tool_added, "tools[1]"),
        (warmer, "config.temperature"),
        (option_gone, "config.temperature"),
    ],
)
def test_a_changed_request_is_stopped_and_its_part_named(
    session: Session, change: Callable[[Request], Request], part: str
) -> None:
    boundary = Boundary(session)
    with pytest.raises(RequestDiffers) as caught:
        boundary.check(change(boundary.derive()))
    assert caught.value.part == part
    assert part in str(caught.value)


def test_a_message_that_was_forced_to_change_in_place_is_stopped(session: Session) -> None:
    boundary = Boundary(session)
    request = boundary.derive()
    force_setattr(request.messages[1].content[0], "text", "goodbye")
    with pytest.raises(RequestDiffers) as caught:
        boundary.check(request)
    assert caught.value.part == "messages[1].content[0].text"


def test_a_list_that_was_forced_to_change_in_place_is_stopped(session: Session) -> None:
    boundary = Boundary(session)
    request = boundary.derive()
    request.messages._shared.pop()  # type: ignore[attr-defined]
    with pytest.raises(RequestDiffers):
        boundary.check(request)


def test_what_was_checked_is_not_looked_at_again(session: Session) -> None:
    boundary = Boundary(session)
    boundary.check(boundary.derive())
    step_on(session, "fine", 1)
    read: list[int] = []
    events = session.events
    original = type(events).__getitem__

    class Counting(type(events)):  # type: ignore[misc]
        __slots__ = ()

        def __getitem__(self, index: int) -> Any:
            read.append(index)
            return original(self, index)

    session._events.__class__ = Counting
    boundary.check(boundary.derive())
    # The answer and the new input; nothing of what stood there before.
    assert all(index > 5 for index in read)


def test_after_a_rewrite_the_whole_surface_still_passes(session: Session) -> None:
    boundary = Boundary(session)
    boundary.check(boundary.derive())
    step_on(session, "fine", 1)
    system = session.surface.system
    assert system is not None
    session.append(
        SystemMessage(turn=1, step=1, message=system_message("Be better.")), Replace(system, system), [system]
    )
    request = boundary.derive()
    assert request.messages[0].text == "Be better."
    boundary.check(request)


def test_an_image_in_a_result_passes_like_any_block(session: Session) -> None:
    call = ToolCall(id="c", name="read", arguments="{}")
    message = Message(id="a1", role="assistant", content=(call,), source=model_source("test", "m"))
    session.append(AssistantMessage(turn=1, step=1, message=message), "append")
    taken = session.append(ToolCallEvent(turn=1, step=1, call_id="c", name="read", arguments="{}"))
    result = tool_message("c", [Image(blob="00", media_type="image/png")])
    session.append(ToolResultEvent(turn=1, step=1, message=result), "append", [taken.seq])
    boundary = Boundary(session)
    boundary.check(boundary.derive())


def test_differences_are_named_by_path() -> None:
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}) is None
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == ".a[1].b"
    assert difference({"a": 1}, {"a": 1, "z": None}) == ".z"
    assert difference([1], [1, 2]) == "[1]"
    assert difference(1, True) == ""
