"""A session of Claude Code becomes a recording of the conversation that its file ends in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interop.foreign import PNG, PNG_TEXT, calls, cut_anywhere, lines, lived, said, taken, tokens
from tests.interop.large import FILLER, measured, write

from everlog.interop.claude_code import read
from everlog.interop.importing import imported

TIME = "2026-01-02T03:04:05.678Z"


def record(kind: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    shared = {"sessionId": "s-1", "cwd": "/work", "version": "2.1.0", "gitBranch": "main", "timestamp": TIME}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, **shared, **more}


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return record("user", uuid, parent, message={"role": "user", "content": content}, **more)


def answer(uuid: str, parent: str | None, *content: Any, id: str = "", **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11}
    message = {"id": id or f"msg-{uuid}", "role": "assistant", "model": "claude-x", "content": blocks, "usage": usage}
    return record("assistant", uuid, parent, message=message, **more)


def tool(id: str, name: str = "Bash", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


TURN = (
    user("1", None, "list the files"),
    answer("2", "1", {"type": "thinking", "thinking": "ls will do", "signature": "sig"}, id="m1"),
    answer("3", "2", "I will look.", id="m1"),
    answer("4", "3", tool("t1", command="ls"), id="m1"),
    user("5", "4", [result("t1", "a.py")], toolUseResult={"stdout": "a.py"}),
    answer("6", "5", "There is a.py."),
)


def test_a_turn_with_a_call_is_two_steps_of_one_turn() -> None:
    found = taken(lines(*TURN), "claude-code")
    assert said(found) == ["user: list the files", "assistant: I will look.", "user: a.py", "assistant: There is a.py."]
    assert calls(found) == [("Bash", "answered")]
    assert [(step.turn, step.step, step.model) for step in found.recording.project("steps")] == [
        (1, 1, "claude-x"),
        (1, 2, "claude-x"),
    ]
    assert (found.header.id, found.header.cwd, found.header.created_at) == ("s-1", "/work", 1767323045678)
    assert (found.kept, found.remarks) == ({}, {})


def test_the_usage_of_an_answer_of_several_records_counts_once() -> None:
    found = taken(lines(*TURN), "claude-code")
    expected = {"inputTokens": 6, "outputTokens": 10, "cacheReadTokens": 14, "cacheWriteTokens": 22}
    assert tokens(found) == expected


def test_what_a_record_says_besides_stays_beside_its_message() -> None:
    events = taken(lines(*TURN), "claude-code").recording.events
    results = [event.data for event in events if event.type == "tool/result"]
    assert results[0]["meta"] == {"stdout": "a.py"}  # type: ignore[index,call-overload]
    answers = [event.data for event in events if event.type == "assistant/message"]
    assert [one["uuid"] for one in answers[0]["record"]] == ["2", "3", "4"]  # type: ignore[index,call-overload,union-attr]
    assert b'"signature":"sig"' in next(event for event in events if event.type == "assistant/message").data_json


def test_results_of_calls_made_together_are_found_beside_the_chain() -> None:
    found = taken(
        lines(
            user("1", None, "both"),
            answer("2", "1", tool("a"), id="m"),
            answer("3", "2", tool("b"), id="m"),
            user("4", "3", [result("b", "B")]),
            user("5", "2", [result("a", "A", is_error=True)]),
            answer("6", "5", "ok"),
        ),
        "claude-code",
    )
    assert said(found) == ["user: both", "assistant: ", "user: A", "user: B", "assistant: ok"]
    assert calls(found) == [("Bash", "failed"), ("Bash", "answered")]


def test_a_branch_that_was_left_is_kept_and_counted_but_not_said() -> None:
    edited = (*TURN, user("7", None, "list them all"), answer("8", "7", "All of them."))
    found = taken(lines(*edited), "claude-code")
    assert said(found) == ["user: list them all", "assistant: All of them."]
    assert found.kept == {"left-branch": 6}


def test_a_missing_parent_is_counted_and_the_record_before_taken_for_it() -> None:
    found = taken(lines(*TURN, user("7", "gone", "go on"), answer("8", "7", "On.")), "claude-code")
    assert said(found)[-3:] == ["assistant: There is a.py.", "user: go on", "assistant: On."]
    assert found.remarks == {"parents that are not in the log": 1}


def test_parents_that_go_round_in_a_ring_come_to_an_end() -> None:
    found = taken(lines(user("1", "2", "a"), answer("2", "1", "b")), "claude-code")
    assert said(found) == ["user: a", "assistant: b"]


def test_a_sub_agents_records_are_kept_beside_and_its_own_file_is_a_child() -> None:
    side = user("9", None, "look it up", isSidechain=True, agentId="a1")
    found = taken(lines(*TURN, side, answer("10", "9", "found", isSidechain=True, agentId="a1")), "claude-code")
    assert (found.kept, len(said(found))) == ({"sidechain": 2}, 4)
    child = taken(lines(side, answer("10", "9", "found", isSidechain=True, agentId="a1")), "claude-code")
    assert said(child) == ["user: look it up", "assistant: found"]
    assert (child.header.id, child.header.parent_session, child.header.delegation_depth) == ("s-1-agent-a1", "s-1", 1)


def test_after_a_compaction_the_model_sees_the_summary_and_the_transcript_all() -> None:
    facts = {"trigger": "auto", "preTokens": 155_000}
    boundary = record(
        "system", "7", None, subtype="compact_boundary", logicalParentUuid="6", compactMetadata=facts, content="…"
    )
    summary = user("8", "7", "They listed files.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    found = taken(lines(*TURN, boundary, summary, answer("9", "8", "Where were we?")), "claude-code")
    assert said(found) == ["user: They listed files.", "assistant: Where were we?"]
    assert lived(found)[:4] == said(taken(lines(*TURN), "claude-code"))
    [start] = [event.data for event in found.recording.events if event.type == "compaction/start"]
    assert start["trigger"] == "auto"  # type: ignore[index,call-overload]


def test_images_become_blobs_wherever_they_are() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}}
    asked = user("1", None, [{"type": "text", "text": "what is this?"}, image])
    found = taken(
        lines(
            asked, answer("2", "1", tool("t")), user("3", "2", [result("t", [image])]), answer("4", "3", "A picture.")
        ),
        "claude-code",
    )
    assert list(found.recording.blobs.values()) == [PNG]  # type: ignore[attr-defined]
    shown = found.recording.messages()
    assert shown[0].content[1].media_type == "image/png"  # type: ignore[union-attr]
    assert shown[2].result.content[0].blob == shown[0].content[1].blob  # type: ignore[union-attr]


def test_records_and_blocks_of_unknown_kinds_are_kept_and_counted() -> None:
    weather = record("weather", "7", "6", forecast="rain")
    odd = user("8", "7", [{"type": "hologram", "data": "…"}])
    found = taken(lines(*TURN, weather, odd, answer("9", "8", "I see.")), "claude-code")
    assert (found.kept, found.unknown) == ({"weather": 1}, {"weather": 1})
    assert found.remarks == {"blocks of kinds without a name here": 1}
    assert b'"forecast":"rain"' in b"".join(event.data_json for event in found.recording.events)
    assert found.recording.messages()[-2].content[0]["type"] == "claude-code/hologram"


def test_known_records_that_are_no_conversation_are_counted_as_known() -> None:
    snapshot = {"type": "file-history-snapshot", "messageId": "1", "snapshot": {}}
    found = taken(lines(snapshot, *TURN, record("system", "7", "6", subtype="turn_duration")), "claude-code")
    assert (found.kept, found.unknown) == ({"file-history-snapshot": 1, "system": 1}, {})


def test_a_title_is_taken_when_it_is_of_this_session() -> None:
    own = {"type": "summary", "summary": "Files", "leafUuid": "6"}
    other = {"type": "summary", "summary": "Another", "leafUuid": "elsewhere"}
    found = taken(lines(other, *TURN, own), "claude-code")
    assert (found.recording.project("title"), found.kept) == ("Files", {"summary": 1})


def test_calls_without_results_and_results_without_calls_are_counted() -> None:
    stray = user("7", "6", [result("nobody")])
    found = taken(lines(*TURN, stray, answer("8", "7", tool("t2"))), "claude-code")
    assert calls(found) == [("Bash", "answered"), ("Bash", "unknown")]
    assert found.kept == {"lone-result": 1}
    assert found.remarks == {"results of calls that are not in the log": 1, "calls without a result": 1}


def test_a_failed_request_is_an_attempt_and_not_an_answer() -> None:
    failed = answer("7", "6", "API Error: 529", isApiErrorMessage=True)
    found = taken(lines(*TURN, failed), "claude-code")
    assert len(said(found)) == 4
    assert found.recording.project("steps")[-1].ended == "failed"


def test_no_beginning_of_a_file_is_too_short_to_be_read() -> None:
    whole = lines(*TURN)
    for part in cut_anywhere(whole):
        found = read(part)
        assert found.violations == ()
        assert sum(found.kept.values()) + len(found.messages()) > 0


def test_lines_that_are_no_records_are_kept_as_they_are() -> None:
    found = imported(lines(*TURN) + b'{"type":"user","uu\xff\n[1]\nnull\n', format="claude-code")
    assert found.kept == {"unreadable": 3}
    assert found.remarks == {"lines that are no records": 3}


def test_a_file_of_100_megabytes_is_read_a_line_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    parents = [None, *(str(number) for number in range(99))]
    write(path, (_large(number, parent) for number, parent in enumerate(parents)))
    assert len(measured(path).recording.messages()) == 100


def _large(number: int, parent: str | None) -> dict[str, Any]:
    made = answer if number % 2 else user
    return made(str(number), parent, f"{number} {FILLER}")
