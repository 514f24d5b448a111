"""Whatever shapes the next request is logged before it, when it is new or changed, and not otherwise."""

from typing import Any

import pytest

from everlog.agent.assembly import log_context, log_header, log_system_prompt, log_tool_changes
from everlog.llm.script import script_route
from everlog.llm.seam import Route
from everlog.session import Session
from everlog.session.payloads import EndSeed, StepEnd, StepStart, TurnStart


@pytest.fixture
def session() -> Session:
    session = Session.create()
    session.append(TurnStart(turn=1))
    session.append(StepStart(turn=1, step=1))
    return session


def tools(*names: str) -> list[Any]:
    return [{"name": name, "description": name, "parameters": {"type": "object"}} for name in names]


def route(**config: Any) -> Route:
    return Route(script_route([]).adapter, "test", "m", {"provider": "test", "model": "m", **config}, 1000)


def headers(session: Session) -> list[tuple[str, Any]]:
    found = [event.data for event in session.events if event.type == "request/header"]
    return [(data["reason"], data.get("startsSeries")) for data in found]  # type: ignore[call-overload, union-attr, index]


def test_the_system_prompt_is_logged_once_and_replaced_when_it_changes(session: Session) -> None:
    for text in ("Be good.", "Be good.", "Be better."):
        log_system_prompt(session, text)
    assert [message.text for message in session.messages()] == ["Be better."]
    assert [event.surface_op == "append" for event in session.events if event.type == "system/message"] == [True, False]


def test_without_a_prompt_nothing_is_logged(session: Session) -> None:
    log_system_prompt(session, "")
    assert session.next_seq == 2


def test_a_prompt_that_changes_in_a_later_step_takes_the_place_of_the_first(session: Session) -> None:
    log_system_prompt(session, "Be good.")
    session.append(StepEnd(turn=1, step=1))
    session.append(StepStart(turn=1, step=2))
    log_system_prompt(session, "Be better.")
    assert [message.role for message in session.messages()] == ["system"]


def test_the_first_header_is_initial_and_an_equal_one_is_not_logged(session: Session) -> None:
    log_header(session, route().header(tools("read")))
    log_header(session, route().header(tools("read")))
    assert headers(session) == [("initial", None)]


def test_a_header_starts_a_series_exactly_when_the_surface_was_rewritten(session: Session) -> None:
    log_system_prompt(session, "Be good.")
    log_header(session, route().header())
    log_system_prompt(session, "Be better.")
    log_header(session, route().header())
    log_header(session, route(temperature=1).header())
    log_system_prompt(session, "Be best.")
    log_header(session, route().header())
    assert headers(session) == [("initial", True), ("series", True), ("change", None), ("change", True)]


def test_the_first_header_after_a_reload_says_so(session: Session) -> None:
    log_header(session, route().header())
    session.append(EndSeed())
    log_header(session, route(temperature=1).header())
    log_header(session, route(temperature=1).header())
    assert headers(session) == [("initial", None), ("resume", None)]


def test_the_model_is_told_which_tools_came_and_went(session: Session) -> None:
    log_tool_changes(session, tools("read", "write"))
    log_header(session, route().header(tools("read", "write")))
    log_tool_changes(session, tools("read", "write"))
    assert len(session.messages()) == 0
    log_tool_changes(session, tools("read", "bash"))
    [message] = session.messages()
    assert message.role == "developer"
    assert "no longer available: write." in message.text
    assert "from now on: bash." in message.text


def test_a_change_is_told_once_although_the_process_ended_before_its_request(session: Session) -> None:
    log_header(session, route().header(tools("read", "write")))
    log_tool_changes(session, tools("read"))
    log_tool_changes(session, tools("read"))
    assert len(session.messages()) == 1


def test_a_new_schema_of_a_tool_is_no_change_of_the_set(session: Session) -> None:
    log_header(session, route().header(tools("read")))
    log_tool_changes(session, [{**tools("read")[0], "description": "Reads better."}])
    assert len(session.messages()) == 0


def test_the_context_is_logged_when_it_changes(session: Session) -> None:
    log_context(session, route())
    log_context(session, route())
    log_context(session, Route(route().adapter, "test", "larger", {}, 2000))
    contexts = [event.data for event in session.events if event.type == "request/context"]
    assert [(data["model"], data["contextWindow"]) for data in contexts] == [("m", 1000), ("larger", 2000)]  # type: ignore[call-overload, index]
