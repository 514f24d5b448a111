"""A session of Codex becomes a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interop.foreign import PNG, PNG_TEXT, calls, cut_anywhere, lines, lived, said, taken, tokens
from tests.interop.large import FILLER, measured, write

from everlog.interop.codex import read

TIME = "2026-01-02T03:04:05.678Z"


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def item(kind: str, **more: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **more)


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def says(role: str, text: str) -> dict[str, Any]:
    return line("response_item", **message(role, text))


def count(input: int, cached: int, output: int) -> dict[str, Any]:
    total = {"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output, "total_tokens": 0}
    return line("event_msg", type="token_count", info={"total_token_usage": total, "last_token_usage": total})


def call(id: str, name: str = "shell") -> dict[str, Any]:
    return item("function_call", name=name, arguments='{"command":["ls"]}', call_id=id)


def output(id: str, text: Any = "a.py") -> dict[str, Any]:
    return item("function_call_output", call_id=id, output=text)


META = line(
    "session_meta", id="c-1", timestamp=TIME, cwd="/work", cli_version="0.80", source="cli", instructions="Be brief."
)
TURN = (
    META,
    says("user", "<environment_context>cwd</environment_context>"),
    says("user", "list the files"),
    line("event_msg", type="user_message", message="list the files"),
    line("turn_context", cwd="/work", model="gpt-x", approval_policy="never"),
    item("reasoning", summary=[{"type": "summary_text", "text": "ls"}], encrypted_content="sealed"),
    call("1"),
    count(100, 60, 10),
    output("1"),
    says("assistant", "There is a.py."),
    count(300, 160, 30),
    count(300, 160, 30),
)


def test_a_turn_with_a_call_is_two_steps_of_one_turn() -> None:
    found = taken(lines(*TURN), "codex")
    assert said(found)[0] == "system: Be brief."
    assert said(found)[2:] == ["user: list the files", "assistant: ", "user: a.py", "assistant: There is a.py."]
    assert calls(found) == [("shell", "answered")]
    assert [(step.turn, step.step, step.model) for step in found.recording.project("steps")] == [
        (1, 1, "gpt-x"),
        (1, 2, "gpt-x"),
    ]
    assert (found.header.id, found.header.cwd) == ("c-1", "/work")


def test_usage_is_what_the_total_grew_by_however_often_it_is_told() -> None:
    steps = taken(lines(*TURN), "codex").recording.project("usage").steps
    assert [(usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) for usage in steps.values()] == [
        (40, 60, 10),
        (100, 100, 20),
    ]
    assert tokens(taken(lines(*TURN), "codex")) == {"inputTokens": 140, "cacheReadTokens": 160, "outputTokens": 30}


def test_what_is_said_beside_the_conversation_is_kept_and_counted() -> None:
    extra = (line("event_msg", type="weather", forecast="rain"), item("ghost_snapshot"), {"type": "sun", "payload": 1})
    found = taken(lines(*TURN, *extra), "codex")
    assert found.unknown == {"weather": 1, "sun": 1}
    assert found.kept["ghost_snapshot"] == found.kept["turn_context"] == 1
    assert b'"encrypted_content":"sealed"' in b"".join(event.data_json for event in found.recording.events)


def test_a_compaction_replaces_what_the_model_saw_by_what_it_keeps() -> None:
    kept = [message("user", "list the files"), message("user", "Summary: listed.")]
    found = taken(
        lines(*TURN, line("compacted", message="listed.", replacement_history=kept), says("assistant", "Go on?")),
        "codex",
    )
    assert said(found)[1:] == ["user: list the files", "user: Summary: listed.", "assistant: Go on?"]
    assert "assistant: There is a.py." in lived(found)


def test_an_older_compaction_keeps_the_summary_alone() -> None:
    found = taken(lines(*TURN, line("compacted", message="They listed files.")), "codex")
    assert said(found)[1:] == ["user: They listed files."]


def test_turns_that_were_taken_back_leave_the_messages_and_stay_in_the_transcript() -> None:
    again = (says("user", "delete them"), says("assistant", "Deleted."))
    back = line("event_msg", type="thread_rolled_back", num_turns=1)
    found = taken(lines(*TURN, *again, back, says("user", "thanks")), "codex")
    assert said(found)[-2:] == ["user: The person took back what stood here.", "user: thanks"]
    assert "assistant: Deleted." not in said(found)
    assert "assistant: Deleted." in lived(found)


def test_an_aborted_turn_ends_as_aborted_and_its_call_is_unknown() -> None:
    aborted = line("event_msg", type="turn_aborted", reason="interrupted")
    found = taken(lines(*TURN, says("user", "more"), call("2"), aborted), "codex")
    assert calls(found)[-1] == ("shell", "unknown")
    ends = [event.data for event in found.recording.events if event.type == "turn/end"]
    assert ends[-1].reason.kind == "aborted"  # type: ignore[union-attr]


def test_calls_of_every_kind_are_calls() -> None:
    custom = item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="2")
    done = item("custom_tool_call_output", call_id="2", output={"content": "no", "success": False})
    local = item("local_shell_call", call_id="3", status="completed", action={"type": "exec", "command": ["ls"]})
    found = taken(lines(META, says("user", "go"), custom, local, done, output("3"), output("lost")), "codex")
    assert calls(found) == [("apply_patch", "failed"), ("local_shell", "answered")]
    assert found.kept["lone-result"] == 1


def test_images_become_blobs() -> None:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_TEXT}"}
    elsewhere = {"type": "input_image", "image_url": "https://example.org/a.png"}
    found = taken(lines(META, item("message", role="user", content=[image, elsewhere])), "codex")
    assert list(found.recording.blobs.values()) == [PNG]  # type: ignore[attr-defined]
    assert found.remarks == {"blocks of kinds without a name here": 1}


def test_a_sub_agents_file_names_its_parent() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "c-0", "depth": 1}}}
    found = taken(lines(line("session_meta", id="c-2", timestamp=TIME, source=source), says("user", "x")), "codex")
    assert (found.header.parent_session, found.header.delegation_depth) == ("c-0", 1)


def test_lines_of_the_first_versions_hold_the_items_alone() -> None:
    first = {"id": "c-3", "timestamp": TIME, "instructions": None, "git": {}}
    found = taken(lines(first, {"record_type": "state"}, message("user", "hi"), message("assistant", "hello")), "codex")
    assert said(found) == ["user: hi", "assistant: hello"]
    assert (found.kept, found.unknown) == ({"session_meta": 1, "record": 1}, {})


def test_a_sub_agents_records_in_its_parents_file_are_kept_and_counted() -> None:
    begun = item("function_call", name="spawn_agent", arguments='{"message":"look it up"}', call_id="s")
    ended = output("s", '{"agent_id":"c-9"}')
    told = line("event_msg", type="collab_agent_spawn_end", new_thread_id="c-9", status="completed")
    found = taken(lines(*TURN, says("user", "ask"), begun, told, ended, says("assistant", "Asked.")), "codex")
    assert calls(found)[-1] == ("spawn_agent", "answered")
    assert found.kept["collab_agent_spawn_end"] == 1
    assert b"c-9" in b"".join(event.data_json for event in found.recording.events)


def test_a_second_header_in_a_file_is_kept_and_counted() -> None:
    again = line("session_meta", id="c-0", timestamp=TIME, cwd="/elsewhere", instructions="Be long.")
    found = taken(lines(*TURN, again, says("user", "more")), "codex")
    assert (found.header.id, found.header.cwd, said(found)[0]) == ("c-1", "/work", "system: Be brief.")
    assert found.kept["session_meta"] == 2


def test_a_file_that_begins_in_the_middle_goes_on_from_there() -> None:
    """Its header, the prompt and the call that a result answers are missing."""
    found = taken(lines(*TURN[8:]), "codex")
    assert said(found) == ["assistant: There is a.py."]
    assert found.kept["lone-result"] == 1
    assert found.remarks["results of calls that are not in the log"] == 1


def test_a_result_before_its_call_and_one_told_twice_are_counted() -> None:
    found = taken(lines(META, says("user", "go"), output("1"), call("1"), output("1"), output("1", "again")), "codex")
    assert calls(found) == [("shell", "answered")]
    assert found.kept["lone-result"] == 2


def test_records_of_any_form_are_kept_and_counted() -> None:
    odd = [
        {"type": "response_item", "payload": None},
        {"type": "response_item", "payload": {"type": None}},
        {"type": "response_item", "payload": {"type": "a b/c\n"}},
        {"type": "event_msg", "payload": {"type": ["x"]}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": {"input_tokens": "9"}}}},
        {"type": "compacted", "payload": {"message": 7, "replacement_history": "x"}},
        {"type": "turn_context", "payload": {"model": None}},
        {"type": "", "payload": {}},
        {"type": 5},
        {},
        {"timestamp": "never", "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": "all"}},
    ]
    before, found = taken(lines(*TURN), "codex"), taken(lines(*TURN, *odd), "codex")
    more = sum(found.kept.values()) - sum(before.kept.values())
    assert more == len(odd)


def test_a_file_of_100_megabytes_is_read_a_line_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    turns = [says("assistant" if number % 2 else "user", f"{number} {FILLER}") for number in range(100)]
    write(path, (META, *turns))
    assert len(measured(path).recording.messages()) == 101


def test_no_beginning_of_a_file_is_too_short_to_be_read() -> None:
    for part in cut_anywhere(lines(*TURN)):
        assert read(part).violations == ()
