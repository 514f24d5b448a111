"""Sessions of OpenHands, of both generations and in every packing, become recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.foreign import PNG, PNG_TEXT, calls, cut_anywhere, lines, lived, said, taken, tokens

from everlog.interop.documents import elements
from everlog.interop.importing import imported

TIME = "2026-01-02T03:04:05.678"


def event(kind: str, id: str, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "id": id, "timestamp": TIME, "source": source, **more}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def message(id: str, source: str, said: str, *more: Any) -> dict[str, Any]:
    role = "user" if source == "user" else "assistant"
    return event("MessageEvent", id, source, llm_message={"role": role, "content": [text(said), *more]})


def action(id: str, call: str, response: str, thought: str = "") -> dict[str, Any]:
    return event(
        "ActionEvent",
        id,
        thought=[text(thought)] if thought else [],
        reasoning_content="ls",
        action={"kind": "ExecuteBashAction", "command": "ls"},
        tool_name="execute_bash",
        tool_call_id=call,
        tool_call={"id": call, "name": "execute_bash", "arguments": '{"command": "ls"}'},
        llm_response_id=response,
    )


def seen(id: str, call: str, said: str) -> dict[str, Any]:
    observation = {"kind": "ExecuteBashObservation", "content": [text(said)], "exit_code": 0, "is_error": False}
    return event("ObservationEvent", id, "environment", observation=observation, tool_name="b", tool_call_id=call)


def spent(id: str, prompt: int, completion: int) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "cache_read_tokens": 10}
    value = {"usage_to_metrics": {"agent": {"model_name": "gpt-x", "accumulated_token_usage": usage}}}
    return event("ConversationStateUpdateEvent", id, "environment", key="stats", value=value)


SDK = [
    event("SystemPromptEvent", "0", system_prompt=text("You help."), tools=[]),
    message("1", "user", "list the files"),
    action("2", "a", "r1", "Looking."),
    action("3", "b", "r1"),
    spent("4", 100, 5),
    seen("5", "b", "B"),
    seen("6", "a", "A"),
    message("7", "agent", "There they are."),
    spent("8", 250, 9),
]


def old(id: int, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": TIME, "source": source, "message": "…", **more}


def called(call: str, response: str) -> dict[str, Any]:
    function = {"name": "execute_bash", "arguments": '{"command":"ls"}'}
    choices = [{"message": {"tool_calls": [{"id": call, "function": function}]}}]
    usage = {"prompt_tokens": 20, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 15}}
    answer = {"id": response, "model": "gpt-y", "choices": choices, "usage": usage}
    return {"function_name": "execute_bash", "tool_call_id": call, "model_response": answer}


OLD = [
    old(0, action="system", args={"content": "You help.", "tools": []}),
    old(1, "user", action="message", args={"content": "list the files", "image_urls": []}),
    old(2, "user", action="recall", args={"query": "x"}),
    old(3, action="run", args={"command": "ls", "thought": "Looking."}, tool_call_metadata=called("a", "r1")),
    old(4, observation="run", cause=3, content="a.py", extras={"command": "ls"}, success=True),
    old(5, action="finish", args={"final_thought": "There is a.py."}),
    old(6, "environment", observation="agent_state_changed", content="", extras={"agent_state": "finished"}),
]


def as_array(events: list[dict[str, Any]]) -> bytes:
    return json.dumps(events, indent=2).encode()


def test_calls_of_one_response_are_one_answer_and_results_stand_in_call_order() -> None:
    found = taken(as_array(SDK), "openhands")
    assert said(found) == [
        "system: You help.",
        "user: list the files",
        "assistant: Looking.",
        "user: A",
        "user: B",
        "assistant: There they are.",
    ]
    assert calls(found) == [("execute_bash", "answered"), ("execute_bash", "answered")]
    assert found.unknown == {}


def test_usage_is_what_the_sums_grew_by() -> None:
    assert tokens(taken(as_array(SDK), "openhands")) == {
        "inputTokens": 240,
        "outputTokens": 9,
        "cacheReadTokens": 10,
    }


def test_a_trajectory_of_the_first_generation_reads_the_same() -> None:
    found = taken(as_array(OLD), "openhands")
    assert said(found) == [
        "system: You help.",
        "user: list the files",
        "assistant: Looking.",
        "user: a.py",
        "assistant: There is a.py.",
    ]
    assert calls(found) == [("execute_bash", "answered")]
    assert tokens(found) == {"inputTokens": 5, "outputTokens": 4, "cacheReadTokens": 15}
    assert found.kept == {"system": 1, "recall": 1, "agent_state_changed": 1}
    assert found.recording.project("steps")[0].model == "gpt-y"


@pytest.mark.parametrize("events", [SDK, OLD])
def test_an_array_lines_and_a_folder_hold_the_same(events: list[dict[str, Any]], tmp_path: Path) -> None:
    folder = tmp_path / "conversation" / "events"
    folder.mkdir(parents=True)
    for number, one in enumerate(events):
        (folder / f"event-{number:05}-x.json").write_text(json.dumps(one))
    array = imported(as_array(events)).recording.events
    assert imported(lines(*events)).recording.events == array
    assert imported(folder.parent).recording.events == array
    assert imported(folder).recording.events == array


def test_a_condensation_takes_what_it_forgets_out_of_the_messages() -> None:
    gone = event("Condensation", "9", "environment", forgotten_event_ids=["2", "3", "5", "6"], summary="Listed.")
    found = taken(as_array([*SDK, gone, message("10", "user", "more")]), "openhands")
    assert said(found) == [
        "system: You help.",
        "user: list the files",
        "user: Listed.",
        "assistant: There they are.",
        "user: more",
    ]
    assert "assistant: Looking." in lived(found)
    early = old(7, action="condensation", args={"forgotten_events_start_id": 3, "forgotten_events_end_id": 4})
    assert said(taken(as_array([*OLD, early]), "openhands"))[2] == "user: What stood here was forgotten."


def test_a_condensation_that_parts_a_call_from_its_result_takes_both() -> None:
    gone = event("Condensation", "9", "environment", forgotten_event_ids=["2"], summary="Listed.")
    assert said(taken(as_array([*SDK, gone]), "openhands"))[2:4] == ["user: Listed.", "assistant: There they are."]


def test_refusals_and_errors_are_results() -> None:
    refused = event("UserRejectObservation", "5", "user", rejection_reason="no", tool_call_id="b", action_id="3")
    broken = event("AgentErrorEvent", "6", error="bad arguments", tool_name="x", tool_call_id="a")
    found = taken(as_array([*SDK[:4], refused, broken]), "openhands")
    assert calls(found) == [("execute_bash", "failed"), ("execute_bash", "refused")]


def test_images_become_blobs_and_unknown_kinds_are_counted() -> None:
    image = {"type": "image", "image_urls": [f"data:image/png;base64,{PNG_TEXT}", "https://example.org/x.png"]}
    odd = event("WeatherEvent", "12", forecast="rain")
    found = taken(as_array([*SDK, message("11", "user", "see", image), odd]), "openhands")
    assert list(found.recording.blobs.values()) == [PNG]  # type: ignore[attr-defined]
    assert found.remarks == {"images that are elsewhere": 1}
    assert found.unknown == {"WeatherEvent": 1}


@pytest.mark.parametrize("events", [SDK, OLD])
def test_no_beginning_of_a_file_is_too_short_to_be_read(events: list[dict[str, Any]]) -> None:
    for part in cut_anywhere(as_array(events), 101):
        assert imported(part, format="openhands").recording.violations == ()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_an_array_is_taken_apart_wherever_its_pieces_end(size: int) -> None:
    values = [{"a": '[{",\\"\\\\'}, [1, [2, {}]], "x,]", 3, {}, {"b": {"c": [None, True]}}]
    whole = json.dumps(values, indent=1).encode()
    pieces = (whole[at : at + size] for at in range(0, len(whole), size))
    assert [json.loads(part) for part in elements(pieces)] == values
