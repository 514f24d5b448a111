"""The script provider gives what its list says, and says that it is a script."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from everlog.kernel import Kernel
from everlog.llm.models import UnknownModel, models
from everlog.llm.script import ScriptInvalid, read_script, script, script_file_route, script_route, scripted
from everlog.llm.seam import Assembler, ModelFailure, Models, Route
from everlog.session.messages import Message, Reasoning, Text, ToolCall, message_from, user_message
from everlog.session.records import Delta
from everlog.session.request import Request


def request_to(route: Route, *messages: Message) -> Request:
    return Request(header=route.header(), messages=messages or (user_message("hi"),))


async def played(route: Route, *messages: Message) -> tuple[Assembler, list[Delta]]:
    request = request_to(route, *messages)
    assembler, given = Assembler(route.provider, route.model), []
    async for delta in route.adapter.stream(request, route.adapter.encode(request, None)):
        given.append(delta)
        assembler.add(delta)
    return assembler, given


async def test_an_answer_of_several_parts_comes_in_their_order_and_in_pieces() -> None:
    route = script_route(
        [
            [
                {"reasoning": "Look first."},
                {"text": "I read it."},
                {"call": {"name": "read", "arguments": {"file_path": "a.py"}}},
                {"call": {"name": "bash", "id": "mine", "arguments": "{not json"}},
                {"usage": {"inputTokens": 9, "outputTokens": 4}},
            ]
        ]
    )
    assembler, given = await played(route)
    assert assembler.message().content == (
        Reasoning(text="Look first."),
        Text(text="I read it."),
        ToolCall(id="call_2", name="read", arguments='{"file_path":"a.py"}'),
        ToolCall(id="mine", name="bash", arguments="{not json"),
    )
    assert [d.text for d in given if d.kind == "text"] == ["I ", "read ", "it."]
    assert assembler.finish_reason == "tool-calls"
    assert assembler.usage is not None
    assert assembler.usage.input_tokens == 9


async def test_answers_come_one_for_each_request_and_then_no_more() -> None:
    route = script_route(["one", {"text": "two"}])
    assert (await played(route))[0].message().text == "one"
    assert (await played(route))[0].message().text == "two"
    with pytest.raises(ModelFailure, match="has 2 answers and this is request 3"):
        await played(route)


async def test_a_new_route_goes_on_behind_the_answers_that_the_session_already_holds() -> None:
    said = message_from(
        {
            "id": "a",
            "role": "assistant",
            "content": [{"type": "text", "text": "one"}],
            "source": {"kind": "model", "provider": "script", "model": "m"},
        }
    )
    assembler, _ = await played(script_route(["one", "two"]), user_message("hi"), said, user_message("more"))
    assert assembler.message().text == "two"


async def test_a_scripted_failure_is_a_model_failure_and_the_next_request_gets_the_next_answer() -> None:
    route = script_route([[{"text": "par"}, {"fail": {"code": "RATE_LIMIT", "status": 429, "retryAfterMs": 5}}], "ok"])
    with pytest.raises(ModelFailure) as caught:
        await played(route)
    assert (caught.value.code, caught.value.status, caught.value.retry_after_ms) == ("RATE_LIMIT", 429, 5)
    assert caught.value.retryable
    assert (await played(route))[0].message().text == "ok"


async def test_it_says_that_it_is_a_script() -> None:
    route = script_route(["one"])
    assert route.notice is not None
    assert "script" in route.notice
    assert request_to(route).config["scripted"] is True


async def test_a_script_can_be_a_yaml_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text("- Hello there.\n- - text: Done.\n  - finish: max-tokens\n")
    route = script_file_route(str(path))
    assert (await played(route))[0].message().text == "Hello there."
    assert (await played(route))[0].finish_reason == "max-tokens"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: b", "must be a list"),
        ("- [", "is not YAML"),
        ("- {shout: hi}", "answer 1: a part is a text, or a mapping"),
        ("- fine\n- - call: {arguments: {}}", "answer 2: call: has no name"),
        ("- {pause: long}", "answer 1: pause: 'long' is not a number of milliseconds from 0 to 86,400,000"),
        ("- {pause: .inf}", "answer 1: pause: inf is not"),
        ("- {pause: .nan}", "answer 1: pause: nan is not"),
        ("- {pause: -1}", "answer 1: pause: -1 is not"),
        (f"- {{pause: 1{'0' * 400}}}", "answer 1: pause: 1000"),
        ("- {pause: true}", "answer 1: pause: True is not"),
        ("- fine\n- call: {name: read, arguments: {since: 2026-01-31}}", "answer 2: call: .*date"),
        ("- call: {name: read, arguments: {is: .nan}}", "answer 1: call: "),
        ('- call: {name: read, arguments: {half: "\\uD800"}}', "answer 1: call: |is not YAML: "),
        ("- call: {name: read, arguments: &a [*a]}", "answer 1: call: "),
        ("- call: {name: read, argument: {}}", "answer 1: call: 'argument' is none of name, arguments, id"),
        ("- call: {name: read, id: [1]}", "answer 1: call: the id"),
        ("- call: read", "answer 1: call: 'read' is no mapping"),
        ("- {fail: {status: abc}}", "answer 1: fail: the status 'abc' is none of HTTP"),
        ("- {fail: {retryAfterMs: -1}}", "answer 1: fail: -1 is not a number of milliseconds to wait"),
        ("- {fail: {code: 5}}", "answer 1: fail: 5 is no text"),
        ("- {fail: {retry: 5}}", "answer 1: fail: 'retry' is none of"),
        ("- {usage: {inputTokens: many}}", "answer 1: usage: inputTokens: 'many' is no number of tokens"),
        ("- {usage: {inputTokens: -1}}", "answer 1: usage: inputTokens: -1 is no number of tokens"),
        ("- {finish: early}", "answer 1: finish: 'early' is none of stop, tool-calls, max-tokens"),
        ("- {text: 5}", "answer 1: text: 5 is no text"),
        ("- call: {name: read, arguments: {since: 2026-13-31}}", "is not YAML: month must be in 1..12"),
        ("- " + "[" * 3_000, "is nested too deeply|is not YAML: "),
        ("- " * 200_000 + "a", "is nested too deeply"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text)
    with pytest.raises(ScriptInvalid, match=problem) as refused:
        read_script(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices in the file system")
def test_a_pipe_in_a_scripts_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "answers.yaml")
    with pytest.raises(ScriptInvalid, match=r"answers\.yaml: is not a file"):
        script_file_route(str(tmp_path / "answers.yaml"))
    with pytest.raises(ScriptInvalid, match="is not a file"):
        script_file_route("/dev/zero")


async def test_a_long_answer_gives_others_a_turn_now_and_then_and_not_at_every_word() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    answer, _ = await played(script_route(["word " * 3_200]))
    counting.cancel()
    assert answer.message().text == "word " * 3_200
    assert 100 <= turns <= 300


def test_a_script_file_that_is_not_there_is_an_unknown_model() -> None:
    with pytest.raises(UnknownModel, match="there is no such file"):
        script_file_route("/no/such/file.yaml")


@pytest.mark.parametrize("answer", [7, {"text": "a", "call": {}}, [["nested"]]])
def test_an_answer_of_another_form_is_refused(answer: Any) -> None:
    with pytest.raises(ScriptInvalid, match="answer 1 of the script"):
        script_route([answer])


async def test_the_plugin_lets_a_file_be_named_as_a_model(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text("- Hello.\n")
    async with Kernel([script, models]) as kernel:
        route = kernel[Models].resolve(f"script/{path}")
        assert (await played(route))[0].message().text == "Hello."
        await kernel.unload("script")
        with pytest.raises(UnknownModel, match="no provider 'script'"):
            kernel[Models].resolve(f"script/{path}")


async def test_a_program_can_give_its_scripts_by_name() -> None:
    async with Kernel([models, scripted({"main": ["one"], "helper": ["two"]})]) as kernel:
        route = kernel[Models].resolve("script/helper")
        assert (await played(route))[0].message().text == "two"
        with pytest.raises(UnknownModel, match="known: helper, main"):
            kernel[Models].resolve("script/other")


@pytest.mark.parametrize(("text", "place"), [("- a: b: c", "at line 1, column 7"), ("- \0", "at position 2")])
def test_a_fault_in_the_yaml_is_told_by_the_file_and_the_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text)
    with pytest.raises(ScriptInvalid) as refused:
        read_script(path)
    assert str(refused.value).startswith(f"script {path}: is not YAML: ")
    assert str(refused.value).endswith(place)
    assert "string" not in str(refused.value)
