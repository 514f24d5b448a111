"""The repair passes: whatever a log holds, what goes out is in an order that providers accept."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.asking import answered, called

from everlog.llm.wireorder import Names, object_arguments, wire_order
from everlog.session.messages import (
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    developer_message,
    message_from,
    system_message,
    tool_message,
    user_message,
)

NAMES = Names()


def ordered(*messages: Message) -> list[Message]:
    return wire_order(messages, {"read"}, NAMES)


def gist(messages: Sequence[Message]) -> list[str]:
    """What each message is, in a word or two."""
    return [_gist(message) for message in messages]


def _gist(message: Message) -> str:
    if message.result is not None:
        return f"result {message.result.tool_call_id}"
    if message.calls:
        return "calls " + " ".join(call.id for call in message.calls)
    return f"{message.role} {message.text}"


def objections(messages: Sequence[Message]) -> list[str]:
    """What a strict provider would refuse."""
    found, due, seen, begun = [], list[str](), set[str](), False
    for message in messages:
        if message.result is not None:
            if not due or due.pop(0) != message.result.tool_call_id:
                found.append("a result that is not due")
            continue
        if due:
            found.append("calls without results")
        if message.role == "system" and begun:
            found.append("a system message after others")
        begun = begun or message.role != "system"
        due = [call.id for call in message.calls]
        if len(set(due)) < len(due) or seen & set(due):
            found.append("an id used twice")
        seen |= set(due)
        found += [f"id {id!r}" for id in due if not NAMES.id_pattern.fullmatch(id)]
        found += [f"name {c.name!r}" for c in message.calls if not NAMES.allow_name(c.name)]
        found += ["arguments" for c in message.calls if not isinstance(json.loads(c.arguments), dict)]
        if not message.content:
            found.append("an empty message")
    return found + (["calls without results at the end"] if due else [])


def test_a_sound_log_is_left_as_it_is() -> None:
    sound = [
        system_message("s"),
        user_message("go"),
        answered("I read.", called("x", arguments='{ "file_path" : "a" }')),
        tool_message("x", "A"),
        answered("Done."),
    ]
    assert all(new is old for new, old in zip(ordered(*sound), sound, strict=True))


def test_results_stand_after_their_calls_in_call_order() -> None:
    said = ordered(
        user_message("go"),
        answered(called("slow"), called("fast")),
        tool_message("fast", "2"),
        tool_message("slow", "1"),
    )
    assert gist(said) == ["user go", "calls slow fast", "result slow", "result fast"]


def test_what_stands_between_a_call_and_its_result_follows_the_result() -> None:
    said = ordered(answered(called("x")), user_message("wait!"), tool_message("x", "1"))
    assert gist(said) == ["calls x", "result x", "user wait!"]


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    said = ordered(answered(called("x"), called("y")), tool_message("y", "1"), user_message("next"))
    assert gist(said) == ["calls x y", "result x", "result y", "user next"]
    assert said[1].result is not None
    assert said[1].result.is_error


def test_a_result_without_a_call_becomes_a_message_and_says_what_it_said() -> None:
    said = ordered(user_message("go"), tool_message("nobody", "precious"), answered("ok"))
    assert [m.role for m in said] == ["user", "user", "assistant"]
    assert "precious" in said[1].text


def test_a_second_result_for_a_call_is_one_without_a_call() -> None:
    said = ordered(answered(called("x")), tool_message("x", "1"), tool_message("x", "2"))
    assert gist(said)[:2] == ["calls x", "result x"]
    assert said[2].text.endswith("2")


def test_an_id_that_comes_again_in_a_later_answer_is_made_unique_with_its_result() -> None:
    said = ordered(
        answered(called("call_0"), id="1"),
        tool_message("call_0", "one"),
        answered(called("call_0"), id="2"),
        tool_message("call_0", "two"),
    )
    results = [m.result for m in said if m.result]
    assert [r.content[0] for r in results] == [Text(text="one"), Text(text="two")]
    assert [r.tool_call_id for r in results] == [said[0].calls[0].id, said[2].calls[0].id]
    assert results[0].tool_call_id == "call_0"
    assert results[1].tool_call_id != "call_0"


def test_ids_and_names_of_another_provider_are_made_to_fit() -> None:
    said = ordered(
        answered(ToolCall(id="functions.read:0|fc_é", name="no such/tool", arguments="{}")),
        tool_message("functions.read:0|fc_é", "1"),
    )
    assert objections(said) == []


def test_what_a_protocol_says_of_names_holds_for_those_that_are_made_to_fit() -> None:
    names = Names(name_characters="a-z", name_length=5)
    said = wire_order([answered(ToolCall(id="call_1", name="read-Files", arguments="{}"))], (), names)
    assert [call.name for call in said[0].calls] == ["read_"]
    names = Names(name_characters="a-z_", name_length=12)
    said = wire_order([answered(ToolCall(id="call_1", name="read_files", arguments="{}"))], (), names)
    assert [call.name for call in said[0].calls] == ["read_files"]


def test_a_system_message_from_the_middle_comes_first() -> None:
    said = ordered(user_message("a"), system_message("s"), developer_message("d", "p"), user_message("b"))
    assert gist(said) == ["system s", "user a", "developer d", "user b"]


def test_unknown_blocks_and_empty_messages_are_left_out() -> None:
    strange = message_from(
        {
            "id": "x",
            "role": "user",
            "content": [{"type": "hologram"}, {"type": "text", "text": ""}],
            "source": {"kind": "?"},
        }
    )
    assert gist(ordered(user_message("a"), strange)) == ["user a"]


def test_several_results_in_one_message_are_taken_apart() -> None:
    both = Message(
        id="r",
        role="user",
        content=(
            ToolResult(tool_call_id="y", content=(Text(text="2"),)),
            Text(text="and now?"),
            ToolResult(tool_call_id="x", content=(Text(text="1"),)),
        ),
        source=user_message("").source,
    )
    assert gist(ordered(answered(called("x"), called("y")), both)) == [
        "calls x y",
        "result x",
        "result y",
        "user and now?",
    ]


@pytest.mark.parametrize("raw", ["{}", '{"a": 1}', ' {"a":\n[1, 2.50]} '])
def test_arguments_that_are_an_object_stay_byte_for_byte(raw: str) -> None:
    assert object_arguments(raw) == raw


@pytest.mark.parametrize("raw", ['{"a":1, b":2}', "[]", '"x"', "null", "7", "{", '{"a": NaN}', '{"a":"\\ud800"}'])
def test_other_arguments_become_an_object_that_holds_the_raw_text(raw: str) -> None:
    assert json.loads(object_arguments(raw)) == {"invalid_arguments": raw}


@pytest.mark.parametrize("raw", ["", " \n"])
def test_blank_arguments_are_none(raw: str) -> None:
    assert object_arguments(raw) == "{}"


IDS = st.sampled_from(["a", "b", "call 1", "", "x" * 60])
ARGUMENTS = st.sampled_from(["{}", "[]", "", "{bad", '{"a":1}'])
CALLS = st.builds(ToolCall, id=IDS, name=st.sampled_from(["read", "", "a.b", "n" * 70]), arguments=ARGUMENTS)
ANSWERS = st.lists(CALLS | st.builds(Text, text=st.sampled_from(["", "t"])) | st.just(Reasoning(text="r")), max_size=4)
MESSAGES = st.one_of(
    ANSWERS.map(lambda blocks: answered(*blocks)),
    IDS.map(lambda id: tool_message(id, "r")),
    st.sampled_from([user_message("u"), user_message(""), system_message("s"), developer_message("d", "p")]),
    st.lists(CALLS, min_size=1, max_size=2).map(user_message),
)


@given(st.lists(MESSAGES, max_size=12))
def test_whatever_a_log_holds_the_order_is_valid_and_no_result_is_lost(messages: list[Message]) -> None:
    said = ordered(*messages)
    assert objections(said) == []
    assert ordered(*said) == said, "the passes repair nothing in what they gave"
    results = sum(m.result is not None for m in messages)
    missing = sum(m.id.endswith(":missing") for m in said)
    told = sum(m.result is not None or m.text.startswith("[A result") for m in said)
    assert told - missing == results
