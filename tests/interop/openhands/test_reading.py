"""Sessions of OpenHands, of both generations and in every packing, become recordings."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.interop.foreign import PNG, PNG_TEXT, calls, cut_anywhere, lines, lived, said, taken, tokens
from tests.interop.large import FILLER, measured, write

from everlog.interop.bundles import ArchiveTooLarge, bundle_of
from everlog.interop.documents import elements
from everlog.interop.importing import imported
from everlog.interop.openhands import read
from everlog.session import FormatUnsupported

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


META = {"id": "c-77", "title": "Listing", "created_at": TIME, "parent_conversation_id": "c-70", "llm_model": "gpt-y"}


def zipped(events: list[Any], *more: tuple[str, bytes]) -> bytes:
    """Give an archive as OpenHands exports it: a file for each event, and one of facts."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, one in reversed(list(enumerate(events))):
            archive.writestr(f"event_{number:06}_{number}.json", json.dumps(one, indent=2))
        for name, data in more:
            archive.writestr(name, data)
    return held.getvalue()


@pytest.mark.parametrize("events", [SDK, OLD])
def test_an_exported_archive_holds_the_same_and_says_whose_it_is(events: list[Any], tmp_path: Path) -> None:
    data = zipped(events, ("meta.json", json.dumps(META).encode()))
    path = tmp_path / "export.zip"
    path.write_bytes(data)
    plain, found = imported(as_array(events)), imported(path)
    assert said(found) == said(plain)
    assert (calls(found), tokens(found)) == (calls(plain), tokens(plain))
    assert found.kept == {**plain.kept, "meta": 1}
    assert (found.header.id, found.header.parent_session, found.header.delegation_depth) == ("c-77", "c-70", 1)
    assert found.recording.project("title") == "Listing"
    assert imported(data).recording.events == found.recording.events
    assert b'"llm_model":"gpt-y"' in b"".join(event.data_json for event in found.recording.events)


def test_what_else_stands_in_an_archive_is_counted() -> None:
    more = (("notes.txt", b"x"), ("odd.json", b"{}"), ("base_state.json", b"[no object"))
    found = taken(zipped(SDK, *more), "openhands")
    assert (found.kept["file"], found.kept["unreadable"]) == (1, 1)
    assert found.remarks == {"files that are no events": 1}


def test_a_damaged_event_of_an_archive_is_counted_and_harms_no_other() -> None:
    whole = zipped(SDK)
    at = whole.index(b"event_000008_8.json") + len("event_000008_8.json")
    found = taken(whole[:at] + b"\xff" * 20 + whole[at + 20 :], "openhands")
    assert found.kept["unreadable"] == 1
    assert said(found) == said(taken(as_array(SDK[:8]), "openhands"))


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped(SDK)
    monkeypatch.setattr("everlog.interop.bundles.MOST_BYTES", 1_000)
    with pytest.raises(ArchiveTooLarge, match="more than 1,000: unpack it"):
        imported(data)


def test_a_file_of_an_archive_is_unpacked_no_further_than_it_is_said_to_go() -> None:
    bomb = zipped(SDK, ("meta.json", b" " * (64 << 20)))
    size = (64 << 20).to_bytes(4, "little")
    bundle = bundle_of(bomb.replace(size, (99).to_bytes(4, "little")))  # the archive says less than is there
    assert bundle is not None
    tracemalloc.start()
    assert bundle.beside[0].read() == b""
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_in_an_unbounded_way_counts_as_damaged(method: int) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        archive.writestr("event_0.json", "{}")
    bundle = bundle_of(held.getvalue())
    assert bundle is not None
    assert bundle.events[0].read() == b""


def test_an_archive_that_is_cut_short_is_of_no_form_that_is_known() -> None:
    with pytest.raises(FormatUnsupported):
        imported(zipped(SDK)[:-40])


def test_a_folder_keeps_what_stands_beside_its_events(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for number, one in enumerate(SDK):
        (tmp_path / "events" / f"event-{number:05}-x.json").write_text(json.dumps(one))
    (tmp_path / "base_state.json").write_text(json.dumps({"id": "c-5", "agent": {"kind": "Agent"}}))
    found = taken(tmp_path, "openhands")
    assert (found.header.id, found.kept["base_state"]) == ("c-5", 1)


def test_a_delegated_conversations_events_are_kept_and_counted() -> None:
    asked = action("20", "d", "r9") | {
        "tool_name": "delegate",
        "tool_call": {"id": "d", "name": "delegate", "arguments": '{"command":"spawn"}'},
    }
    state = event("ConversationStateUpdateEvent", "22", "environment", key="execution_status", value="finished")
    found = taken(as_array([*SDK, asked, seen("21", "d", "spawned"), state]), "openhands")
    assert calls(found)[-1] == ("delegate", "answered")
    assert found.kept["ConversationStateUpdateEvent"] == 3


def test_results_whose_call_is_missing_and_calls_without_a_result_are_counted() -> None:
    new = taken(as_array([SDK[1], seen("5", "lost", "B"), action("6", "c", "r2")]), "openhands")
    assert (new.kept["lone-result"], new.remarks["calls without a result"]) == (1, 1)
    old_one = old(9, observation="run", cause=77, content="x", tool_call_metadata={"tool_call_id": "lost"})
    older = taken(as_array([OLD[1], old_one, OLD[3]]), "openhands")
    assert (older.kept["lone-result"], older.remarks["calls without a result"]) == (1, 1)


@pytest.mark.parametrize("events", [SDK, OLD])
def test_events_of_any_form_are_kept_and_counted(events: list[Any]) -> None:
    odd: list[Any] = [
        {"kind": "a b/c\n", "id": "o1", "source": "agent"},
        {"kind": ["x"], "id": ["y"], "source": 5},
        {"kind": "MessageEvent", "id": "o2", "llm_message": None},
        {"kind": "ConversationStateUpdateEvent", "id": "o3", "key": "stats", "value": {"usage_to_metrics": "x"}},
        {"kind": "Condensation", "id": "o4", "forgotten_event_ids": "all", "summary": 5, "timestamp": "never"},
        {"action": "a b/c", "id": 90, "source": "environment"},
        {"observation": "a b/c", "cause": [1], "id": 91},
        {"action": None, "observation": None, "id": 92},
        {},
    ]
    before, found = taken(as_array(events), "openhands"), taken(as_array([*events, *odd]), "openhands")
    more = sum(found.kept.values()) - sum(before.kept.values())
    assert more == len(odd)


def test_a_file_of_100_megabytes_is_read_an_event_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    turns = [message(str(number), "agent" if number % 2 else "user", f"{number} {FILLER}") for number in range(100)]
    write(path, turns, between=b",\n", start=b"[", end=b"]")
    assert len(measured(path).recording.messages()) == 100


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
        assert read(part).violations == ()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_an_array_is_taken_apart_wherever_its_pieces_end(size: int) -> None:
    values = [{"a": '[{",\\"\\\\'}, [1, [2, {}]], "x,]", 3, {}, {"b": {"c": [None, True]}}]
    whole = json.dumps(values, indent=1).encode()
    pieces = (whole[at : at + size] for at in range(0, len(whole), size))
    assert [json.loads(part) for part in elements(pieces)] == values
