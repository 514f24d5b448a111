"""Servers that nearly speak chat completions: each of their ways is read as what it means."""

from __future__ import annotations

from typing import Any

import pytest

from everlog.llm.openai.chatreader import ChatReader, chat_usage
from everlog.llm.openai.details import Details
from everlog.llm.seam import Assembler
from everlog.session.messages import Block, Reasoning, Text, ToolCall
from everlog.session.payloads import Usage


def read(*deltas: dict[str, Any], finish: str = "stop") -> Assembler:
    """What a stream of these deltas makes."""
    reader, assembler = ChatReader(), Assembler("lab", "m")
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    for event in [*events, {"choices": [{"delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": None}]:
        for delta in reader.read(event):
            assembler.add(delta)
    for delta in reader.end():
        assembler.add(delta)
    return assembler


def content(*deltas: dict[str, Any]) -> tuple[Block, ...]:
    return read(*deltas).message().content


def piece(arguments: str, name: str | None = None, **call: Any) -> dict[str, Any]:
    return {"tool_calls": [{**call, "function": {"arguments": arguments, **({"name": name} if name else {})}}]}


A, B = ToolCall(id="a", name="x", arguments='{"n":1}'), ToolCall(id="b", name="y", arguments="{}")


def test_pieces_of_calls_are_joined_by_their_number() -> None:
    said = content(
        piece("", "x", index=0, id="a"),
        piece('{"n"', index=0),
        piece("", "y", index=1, id="b"),
        piece(":1}", index=0),
        piece("{}", index=1),
    )
    assert said == (A, B)


def test_calls_that_all_have_the_same_number_are_told_apart_by_their_ids() -> None:
    assert content(piece('{"n":1}', "x", index=0, id="a"), piece("{}", "y", index=0, id="b")) == (A, B)
    again = content(
        piece('{"n"', "x", index=0, id="a"), piece(":1}", index=0, id="a"), piece("{}", "y", index=0, id="b")
    )
    assert again == (A, B)


def test_calls_without_a_number_are_told_apart_by_id_or_name() -> None:
    assert content(piece('{"n"', "x", id="a"), piece(":1}"), piece("{}", "y", id="b")) == (A, B)
    whole = content(piece('{"n":1}', "x"), piece("{}", "y"))
    assert [call.name for call in whole if isinstance(call, ToolCall)] == ["x", "y"]


def test_an_id_may_come_after_the_first_piece() -> None:
    assert content(piece('{"n"', "x", index=0), piece(":1}", index=0, id="a")) == (A,)


def test_a_call_whose_arguments_never_come_has_none() -> None:
    assert content(piece("", "y", index=0, id="b")) == (ToolCall(id="b", name="y", arguments=""),)


def test_text_that_goes_on_after_something_else_is_a_new_block() -> None:
    said = content(
        {"reasoning_content": "hm"},
        {"content": "I "},
        {"content": "look."},
        {"reasoning": "so"},
        {"content": "Done.", "tool_calls": None},
    )
    assert said == (Reasoning(text="hm"), Text(text="I look."), Reasoning(text="so"), Text(text="Done."))


def test_content_may_come_in_parts_with_thinking_among_them() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hello."}]
    assert content({"content": parts}) == (Reasoning(text="hm"), Text(text="Hello."))


def test_a_refusal_is_what_the_model_said() -> None:
    assert content({"refusal": "I can"}, {"refusal": "not."}) == (Text(text="I cannot."),)


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call"])
def test_an_answer_with_calls_waits_for_results_whatever_the_server_calls_it(finish: str) -> None:
    assert read(piece("{}", "y", index=0, id="b"), finish=finish).finish_reason == "tool-calls"


def test_a_cut_answer_with_calls_is_a_cut_answer() -> None:
    assert read(piece("{}", "y", index=0, id="b"), finish="length").finish_reason == "max-tokens"


def test_cache_reads_are_counted_under_either_name() -> None:
    deepseek = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "prompt_cache_hit_tokens": 6,
        "prompt_cache_miss_tokens": 4,
    }
    assert chat_usage(deepseek) == Usage(input_tokens=4, output_tokens=2, cache_read_tokens=6)
    strange = {"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": {"cached_tokens": 9}}
    assert chat_usage(strange) == Usage(cache_read_tokens=9)
    assert chat_usage({"total_tokens": 3}) is None


def test_reasoning_that_comes_letter_by_letter_is_joined_once() -> None:
    class Piece(str):
        """A text that tells when it is joined to what came before, which a long answer has no time for."""

        def __radd__(self, before: str) -> str:
            raise AssertionError("joined at every piece")

    details = Details()
    for piece in ("ab", "c", "", "d"):
        details.add({"type": "reasoning.text", "index": 0, "text": Piece(piece)})
    details.add({"type": "reasoning.text", "index": 0, "signature": "sig"})
    assert details.sealed == [{"type": "reasoning.text", "index": 0, "text": "abcd", "signature": "sig"}]
