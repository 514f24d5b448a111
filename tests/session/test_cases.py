"""Faults that users of other agents have met, each as a whole kind, as far as the session core decides them.

Each test's name begins with the row of the list that it guards.
"""

from __future__ import annotations

import json
import math
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.plain import own, plain
from tests.session.reference import conversation_faults
from tests.session.stories import Story, plain_turn

from everlog import to_json
from everlog.session import (
    CORE,
    AppendRefused,
    EventType,
    Log,
    Recording,
    RuleViolation,
    Session,
    read_event,
)
from everlog.session.jsonvalue import MAX_DEPTH, NotJSON, decode, encode, scrub
from everlog.session.messages import Message, Reasoning, Text, ToolCall, model_source
from everlog.session.payloads import AssistantMessage
from everlog.session.projection import names
from everlog.session.reloading import reload
from everlog.session.repair import closers


def asking(*ids: str) -> Story:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent(), story.answer(calls=ids)
    return story


def killed(log: Log, after: int | None = None) -> Session:
    """The process ends after some event, and another opens what it left."""
    count = None if after is None else after + 1
    return reload(log.header, [read_event(event.to_json()) for event in log.events[:count]])


def conversation(log: Log) -> list[Any]:
    return [json.loads(to_json(message)) for message in log.messages()]


def answers(log: Log) -> list[tuple[str, bool]]:
    found = [message.result for message in log.messages() if message.result is not None]
    return [(result.tool_call_id, result.is_error) for result in found]


def next_request(session: Session) -> list[Any]:
    """Go on with a new prompt, and give the messages of the request that asks for its answer."""
    story = Story(session)
    story.turn(), story.step(), story.prompt("and now?"), story.header(reason="resume"), story.sent()
    request = session.project("request").last.request
    return [json.loads(to_json(message)) for message in request.messages]


# -- A: calls and results


def test_a1_a_log_that_ends_at_a_call_loads_and_the_call_is_answered_once() -> None:
    story = asking("a")
    call = story.call("a")
    session = killed(story.session, call.seq)
    assert answers(session) == [("a", True)]
    assert conversation_faults(next_request(session)) == []


def test_a2_and_a13_a_call_that_may_have_run_has_one_result_that_says_so_and_takes_no_other() -> None:
    story = asking("a")
    story.call("a")
    session = killed(killed(story.session))
    assert answers(session) == [("a", True)]
    (result,) = [event.data for event in session.events if event.type == "tool/result"]
    assert result.error.code == "TOOL_OUTCOME_UNKNOWN"
    assert "not known" in result.message.result.content[0].text
    assert [call.outcome for step in session.project("steps") for call in step.calls] == ["unknown"]
    assert [event.type for event in session.events].count("tool/call") == 1


def test_a3_a_second_result_is_refused_and_the_log_unchanged() -> None:
    story = asking("a", "b")
    story.call("a"), story.call("b"), story.result("a")
    before = own(story.session)
    for text in ("done", "other"):
        with pytest.raises(RuleViolation):
            story.result("a", text)
    assert own(story.session) == before


def test_a4_every_projection_answers_about_a_result_without_a_call() -> None:
    story = asking("a")
    story.call("a"), story.result("a")
    lonely = [event for event in story.session.events if event.type not in ("assistant/message", "tool/call")]
    rows = [{**json.loads(event.to_json()), "seq": seq} for seq, event in enumerate(lonely)]
    for row in rows:
        row.pop("sourceEventSeqs", None)
    log = Recording(story.session.header, [read_event(encode(row)) for row in rows])
    assert [violation.rule for violation in log.violations] == ["calls.result"]
    for name in names():
        plain(log.project(name))
    assert [call.outcome for step in log.project("steps") for call in step.calls] == ["answered"]


def test_a5_a_call_that_was_cancelled_is_closed_and_the_next_prompt_is_served() -> None:
    story = asking("a")
    story.call("a"), story.result("a", "aborted", code="ABORTED"), story.end_step()
    story.session.append_json("turn/end", {"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "user"}}})
    messages = next_request(story.session)
    assert conversation_faults(messages) == []
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]


def test_a6_thoughts_and_calls_keep_the_order_of_the_answer() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.sent()
    order = [
        Reasoning(text="first"),
        ToolCall(id="a", name="read", arguments="{}"),
        ToolCall(id="b", name="read", arguments="{}"),
        Reasoning(text="then"),
        ToolCall(id="c", name="read", arguments="{}"),
    ]
    message = Message(id="m", role="assistant", content=tuple(order), source=model_source("p", "m"))
    story.session.append(AssistantMessage(turn=1, step=1, message=message), "append")
    for id in ("a", "b", "c"):
        story.call(id), story.result(id)
    found = killed(story.session).messages()
    assert [block.value() for block in found[1].content] == [block.value() for block in order]
    assert [message.result.tool_call_id for message in found[2:] if message.result] == ["a", "b", "c"]


@pytest.mark.parametrize("arguments", ['{"a":1, b":2}', "[]", '"x"', "null", "", "{", '{"a":1}{"b":2}', "\u0000"])
def test_a9_and_a10_arguments_that_are_no_object_are_kept_raw_and_poison_nothing(arguments: str) -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.sent()
    call = ToolCall(id="a", name="read", arguments=arguments)
    message = Message(id="m", role="assistant", content=(call,), source=model_source("p", "m"))
    story.session.append(AssistantMessage(turn=1, step=1, message=message), "append")
    taken: Any = story.call("a", arguments).data
    story.result("a", "the arguments are not a JSON object", code="INVALID_ARGUMENTS")
    story.end_step(), story.end_turn()
    session = killed(story.session)
    assert taken.arguments == arguments
    assert session.messages()[1].calls[0].arguments == arguments
    messages = next_request(session)
    assert messages[1]["content"][0]["arguments"] == arguments
    assert conversation_faults(messages) == []


def test_a11_of_three_parallel_calls_the_one_without_result_is_answered_in_its_place() -> None:
    for missing in ("a", "b", "c"):
        story = asking("a", "b", "c")
        for id in ("a", "b", "c"):
            story.call(id)
        for id in ("c", "b", "a"):  # they end in another order than they began
            if id != missing:
                story.settle(id)
        session = killed(story.session)
        assert answers(session) == [(id, id == missing) for id in ("a", "b", "c")]
        assert conversation_faults(next_request(session)) == []


def test_a12_results_stand_in_call_order_however_long_each_took() -> None:
    story = asking("slow", "fast")
    story.call("slow"), story.call("fast"), story.settle("fast")
    with pytest.raises(RuleViolation):
        story.result("fast")
    story.result("slow"), story.result("fast")
    assert [id for id, _ in answers(story.session)] == ["slow", "fast"]
    assert [id for id, _ in answers(killed(story.session))] == ["slow", "fast"]


def a_turn_with_inputs() -> Story:
    """Two follow-ups and a steering message; one follow-up and the steering enter, the other waits."""
    story = Story()
    story.queue("first"), story.queue("second", start=1), story.turn(), story.step()
    inbox = story.session.project("inbox")
    story.session.append(inbox.next_turn[0].message, "append")
    story.header(), story.sent(), story.chunk("hi"), story.answer("hi", calls=["a"])
    story.queue("steering", target="next-step"), story.call("a"), story.result("a"), story.end_step()
    story.step(), story.session.append(story.session.project("inbox").next_step[0].message, "append")
    story.sent(), story.answer("bye"), story.end_step(), story.end_turn()
    return story


def test_a14_killed_after_any_event_each_input_is_once_pending_or_history_and_no_call_is_asked_twice() -> None:
    log = a_turn_with_inputs().session
    for event in log.events:
        session = killed(log, event.seq)
        given = [e.data.inserted[0].message.id for e in session.events if e.type == "inbox/spliced"]
        pending = [waiting.id for waiting in session.project("inbox")]
        history = [message.id for message in session.messages() if message.id in given]
        assert sorted(pending + history) == sorted(given)
        assert len(set(pending + history)) == len(given)
        assert [e.type for e in session.events].count("tool/call") <= 1
        assert conversation_faults(conversation(session)) == []


# -- D, E: compaction, resume, fork


def test_d6_a_fork_from_before_a_compaction_sees_the_original_messages() -> None:
    story = Story()
    for number in range(3):
        plain_turn(story, f"question {number}", f"answer {number}")
    session = story.session
    original, last = conversation(session), session.next_seq - 1
    nodes = session.surface.nodes
    story.compact(nodes[0], nodes[3])
    plain_turn(story, "later", "on")
    story.compact(session.surface.nodes[0], session.surface.nodes[2], id="c2")
    child = session.fork(at=last)
    assert conversation(child) == original
    assert conversation(child.fork()) == original
    assert len(session.messages()) < len(original)


def test_d4_and_d3_lines_stay_and_a_failed_compaction_leaves_the_surface() -> None:
    story = Story()
    plain_turn(story)
    session = story.session
    nodes, lines = session.surface.nodes, [line.seq for line in session.transcript()]
    session.append_json("compaction/start", {"compactionId": "c", "turn": None, "trigger": "manual"})
    session.append_json("compaction/end", {"compactionId": "c", "turn": None, "error": {"message": "no"}})
    assert (session.surface.nodes, session.surface.generation) == (nodes, 0)
    checkpoint = story.compact(nodes[0], nodes[-1], id="d")
    assert [line.seq for line in session.transcript()] == lines
    assert {line.shadowed_by for line in session.transcript()} == {checkpoint.seq}


def test_e2_what_a_provider_wants_back_stays_with_it_byte_for_byte() -> None:
    state = {"signature": "äöü\u0000", "items": [1.50, {"deep": [None]}]}
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.sent()
    message = Message(id="m", role="assistant", content=(Text(text="hi"),), source=model_source("p", "m", state))
    story.session.append(AssistantMessage(turn=1, step=1, message=message), "append")
    first: Any = story.session.messages()[1].source
    again: Any = killed(story.session).fork().messages()[1].source
    assert (again.provider, again.replay_state) == ("p", state)
    assert bytes(again.replay_state_json) == bytes(first.replay_state_json) == encode(state)


def test_e4_neither_a_fork_nor_its_parent_sees_what_the_other_appends() -> None:
    story = Story()
    plain_turn(story, "shared", "past")
    parent = story.session
    child = parent.fork()
    for name in names():
        plain(parent.project(name)), plain(child.project(name))
    plain_turn(Story(child), "of the child", "only")
    assert [message.text for message in parent.messages()] == ["shared", "past"]
    plain_turn(story, "of the parent", "alone")
    assert [message.text for message in child.messages()] == ["shared", "past", "of the child", "only"]
    assert [message.text for message in parent.messages()] == ["shared", "past", "of the parent", "alone"]
    for log in (parent, child):
        fresh = Recording(log.header, [read_event(event.to_json()) for event in log.events])
        for name in names():
            assert plain(log.project(name)) == plain(fresh.project(name))


# -- F: content


@given(st.text(st.characters(codec=None, categories=None), max_size=20), st.integers(0, 20))
@settings(max_examples=300)
def test_f2_text_cut_inside_a_character_is_mended_at_the_edge_and_loads(text: str, at: int) -> None:
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * at]
    cut = units.decode("utf-16-le", "surrogatepass")
    session = Session.create()
    session.append_json("session/title", {"title": scrub(cut)})
    assert killed(session).project("title") == scrub(cut)
    assert not any("\ud800" <= char <= "\udfff" for char in scrub(cut))
    assert scrub(scrub(cut)) == scrub(cut)


def test_f2_an_emoji_cut_in_half_becomes_the_replacement_character() -> None:
    assert scrub("ab\ud83d") == "ab\ufffd"
    assert scrub("\ude42ab") == "\ufffdab"
    assert scrub("\ud83d\ude42") == "🙂"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("surface", [None, "append"])
def test_f3_a_number_that_json_has_not_is_refused_with_its_place(bad: float, surface: str | None) -> None:
    story = asking("a")
    story.call("a")
    before = own(story.session)
    block = {"type": "tool-result", "toolCallId": "a", "content": [], "isError": False}
    message = {"id": "r", "role": "user", "content": [block], "source": {"kind": "tool", "callId": "a"}}
    data = {"turn": 1, "step": 1, "message": message, "meta": {"rows": [0, {"mean": bad}]}}
    with pytest.raises(AppendRefused) as refused:
        story.session.append_json("tool/result" if surface else "tool/settled", data, surface)
    assert refused.value.path == "$.meta.rows[1].mean"
    assert own(story.session) == before


@pytest.mark.parametrize("number", [2**53 + 1, -(2**63) - 1, 2**64, 10**4000])
def test_f5_whole_numbers_are_kept_exactly(number: int) -> None:
    session = Session.create()
    session.append_json("vendor/x", {"n": number}, ignorable=True)
    assert killed(session).events[0].data == {"n": number}


def test_f5_what_no_value_can_hold_is_refused_on_the_way_in_and_shown_raw_when_it_is_there() -> None:
    with pytest.raises(NotJSON):
        encode(10**5000)
    with pytest.raises(ValueError, match="out of range"):
        decode(b"1e400")
    event = read_event(b'{"seq":0,"type":"vendor/x","time":0,"data":{"n":1e400},"ignorable":true}')
    log = Recording(Session.create().header, [event])
    assert log.violations == ()
    assert log.events[0].data == '{"n":1e400}'


def nested(depth: int, containers: str) -> Any:
    value: Any = 1
    for _, container in zip(range(depth), cycle(containers), strict=False):
        value = [value] if container == "[" else {"a": value}
    return value


@pytest.mark.parametrize("containers", ["[", "{", "[{", "{["])
def test_f5_nesting_has_a_bound(containers: str) -> None:
    session = Session.create()
    assert killed_with(session, nested(MAX_DEPTH, containers)) == nested(MAX_DEPTH, containers)
    for depth in (MAX_DEPTH + 1, 5_000):
        before = own(session)
        with pytest.raises(AppendRefused, match="nested deeper"):
            session.append_json("vendor/x", nested(depth, containers), ignorable=True)
        assert own(session) == before


def killed_with(session: Session, data: Any) -> Any:
    session.append_json("vendor/x", data, ignorable=True)
    return killed(session).events[0].data


def test_f5_of_duplicate_keys_the_last_counts_and_the_bytes_keep_both() -> None:
    line = b'{"seq":0,"type":"session/title","time":0,"data":{"title":"a","title":"b"}}'
    log = Recording(Session.create().header, [read_event(line)])
    assert log.project("title") == "b"
    assert to_json(log.events[0]) == line


@pytest.mark.parametrize("odd", ["\u0000", "\u2028\u2029\u0085\u001c\r", "\\u0000", "\u200b", "a" * 100_000])
def test_f1_and_b6_odd_characters_come_back_as_they_were_on_one_line(odd: str) -> None:
    session = Session.create()
    session.append_json("session/title", {"title": odd})
    assert b"\n" not in to_json(session.events[0])
    assert killed(session).project("title") == odd


# -- G: what this build does not know


def unknown(ignorable: bool) -> Recording:
    story = Story()
    plain_turn(story)
    row = {"seq": story.session.next_seq, "type": "acme/mood", "time": 5, "data": {"mood": [1, None]}}
    row |= {"ignorable": True} if ignorable else {}
    return Recording(story.session.header, [*story.session.events, read_event(encode(row))])


def test_g5_an_unknown_event_makes_a_recording_that_names_it_and_can_be_looked_at() -> None:
    log = unknown(ignorable=False)
    (violation,) = log.violations
    assert (violation.type, violation.rule) == ("acme/mood", "vocabulary")
    assert "acme/mood" in str(violation)
    with pytest.raises(RuleViolation):
        killed(log)


def test_g5_one_that_may_be_skipped_is_kept_listed_and_skipped() -> None:
    log = unknown(ignorable=True)
    session = killed(log)
    assert to_json(session.events[log.next_seq - 1]) == to_json(log.events[-1])
    plain_turn(Story(session))
    for kept in (log, session):
        assert kept.events[log.next_seq - 1].data == {"mood": [1, None]}
        for name in names():
            plain(kept.project(name))
    assert closers(session) == []


def test_g5_a_plugin_that_is_installed_makes_it_known() -> None:
    vocabulary = CORE.with_types(EventType("acme/mood"))
    session = Session.create(vocabulary=vocabulary)
    session.append_json("acme/mood", {"mood": 1})
    events = [read_event(event.to_json(), vocabulary) for event in session.events]
    assert reload(session.header, events, vocabulary).events[0].data == {"mood": 1}
