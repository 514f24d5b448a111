"""The assembler makes one message of the deltas of a stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlog.llm import deltas
from everlog.llm.seam import Assembler, ModelFailure
from everlog.session.messages import Message, ModelSource, Reasoning, Text, ToolCall
from everlog.session.payloads import Usage
from everlog.session.records import Delta


def assembled(*given: Delta) -> Message:
    assembler = Assembler("p", "m")
    for delta in given:
        assembler.add(delta)
    return assembler.message("id")


def test_blocks_stand_in_the_order_in_which_they_began() -> None:
    message = assembled(
        deltas.reasoning(0, "think"),
        deltas.call(1, '{"a"', "x", "A"),
        deltas.call(2, "{}", "y", "B"),
        deltas.call(1, ":1}"),
        deltas.reasoning(3, "more"),
        deltas.call(4, "{}", "z", "C"),
        deltas.finish(deltas.TOOL_CALLS),
    )
    assert message.content == (
        Reasoning(text="think"),
        ToolCall(id="x", name="A", arguments='{"a":1}'),
        ToolCall(id="y", name="B", arguments="{}"),
        Reasoning(text="more"),
        ToolCall(id="z", name="C", arguments="{}"),
    )


def test_text_and_reasoning_without_a_character_are_left_out() -> None:
    assert assembled(deltas.reasoning(0, ""), deltas.text(1, ""), deltas.text(2, "hi")).content == (Text(text="hi"),)


def test_missing_and_repeated_call_ids_are_made_unique_and_good_ones_kept() -> None:
    calls = ["", "same", "same", "same_2", "call_0", "same"]
    message = assembled(*(deltas.call(i, "{}", id, "t") for i, id in enumerate(calls)))
    assert [call.id for call in message.calls] == ["call_0_2", "same", "same_3", "same_2", "call_0", "same_4"]


@given(st.lists(st.sampled_from(["", "a", "a_2", "call_0", "call_1"]), max_size=8))
def test_call_ids_of_one_answer_are_always_unique_and_never_empty(ids: list[str]) -> None:
    message = assembled(deltas.text(99, "x"), *(deltas.call(i, "", id, "t") for i, id in enumerate(ids)))
    made = [call.id for call in message.calls]
    assert len(set(made)) == len(ids)
    assert all(made)
    assert all(id in made for id in ids if id)


def test_usage_reason_and_replay_state_come_from_their_records() -> None:
    assembler = Assembler("p", "m")
    for delta in (
        deltas.text(0, "x"),
        deltas.usage(Usage(input_tokens=1)),
        deltas.usage(Usage(input_tokens=5, cache_read_tokens=7)),
        deltas.finish(deltas.STOP, "end_turn", {"signatures": ["abc=="]}),
    ):
        assembler.add(delta)
    assert assembler.usage == Usage(input_tokens=5, cache_read_tokens=7)
    assert assembler.finish_reason == "stop"
    source = assembler.message().source
    assert isinstance(source, ModelSource)
    assert source.replay_state == {"signatures": ["abc=="]}


@pytest.mark.parametrize("given", [(), (deltas.reasoning(0, "hm"),), (deltas.text(0, ""),)])
def test_an_answer_that_says_nothing_is_a_failure(given: tuple[Delta, ...]) -> None:
    with pytest.raises(ModelFailure) as caught:
        assembled(*given, deltas.finish(deltas.STOP))
    assert caught.value.code == "EMPTY_RESPONSE"
    assert caught.value.retryable


def test_an_empty_answer_that_was_filtered_is_not_tried_again() -> None:
    with pytest.raises(ModelFailure) as caught:
        assembled(deltas.finish(deltas.CONTENT_FILTER))
    assert caught.value.code == "CONTENT_FILTER"
    assert not caught.value.retryable


def test_an_answer_that_the_output_ceiling_cut_may_hold_reasoning_only() -> None:
    assert assembled(deltas.reasoning(0, "hm"), deltas.finish(deltas.MAX_TOKENS)).content == (Reasoning(text="hm"),)
