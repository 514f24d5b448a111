"""What joins the surface, what may replace what, and what is cited."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.rules.refusals import in_step, message, refused, replace, result
from tests.session.stories import Story

SYSTEM = {"message": message("system", {"kind": "system-prompt"})}


def told() -> tuple[Story, dict[str, int]]:
    """A story with every kind of node on its surface, its last step closed; the nodes by name."""
    story = in_step()
    at = {"system": story.system("be brief").seq, "prompt": story.session.surface.nodes[-1]}
    story.sent()
    at["asked"] = story.answer(calls=["a", "b"]).seq
    story.call("a"), story.call("b")
    at["a"], at["b"] = story.result("a").seq, story.result("b").seq
    story.end_step(), story.step(), story.sent()
    at["said"] = story.answer("done").seq
    return story, at


def nodes(story: Story, start: int, end: int) -> list[int]:
    found = story.session.surface.nodes
    return list(found[found.index(start) : found.index(end) + 1])


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([], "no sources rather than an empty list"),
        ([1, 1], "each source once"),
        ([-1], "sources that are earlier events; -1 is none"),
        ([3], "sources that are earlier events; 3 is none"),
        ([99], "sources that are earlier events; 99 is none"),
    ],
)
def test_sources_are_unique_earlier_and_some(sources: list[int], expected: str) -> None:
    assert refused(in_step(), "user/message", message(), "append", sources) == ("surface.sources", expected)


def test_an_answer_may_cite_an_empty_list_for_a_known_empty_stream() -> None:
    story = in_step()
    story.sent()
    assert story.answer("hi", sources=[]).source_event_seqs == ()


def test_a_system_prompt_takes_position_0_and_is_there_once() -> None:
    story = in_step()
    first = story.system("be brief").seq
    assert story.session.surface.nodes[0] == first
    assert story.session.surface.generation == 1
    found = refused(story, "system/message", {"turn": 1, "step": 1, **SYSTEM}, "append")
    assert found == ("surface.append", f"a replace of the system prompt at seq {first}")
    second = story.system("be briefer").seq
    assert story.session.surface.nodes[0] == story.session.surface.system == second
    assert story.session.surface.generation == 2


def test_both_ends_of_a_replace_are_nodes_in_order() -> None:
    story, at = told()
    prompt, said = at["prompt"], at["said"]
    rule = "surface.replace"
    found = refused(story, "user/message", message(), replace(0, said), [0])
    assert found == (rule, f"two nodes of the surface; 0 or {said} is none")
    found = refused(story, "user/message", message(), replace(said, prompt), nodes(story, prompt, said))
    assert found == (rule, f"a start that is not after its end; {said} stands after {prompt}")


def test_positions_count_and_not_seqs() -> None:
    story, at = told()
    summary = story.compact(at["prompt"], at["b"]).seq
    assert story.session.surface.nodes == (at["system"], summary, at["said"])
    assert summary > at["said"]
    found = refused(story, "user/message", message(), replace(at["said"], summary), [at["said"], summary])
    assert found[1] == f"a start that is not after its end; {at['said']} stands after {summary}"
    again = story.compact(summary, at["said"], id="c2").seq
    assert story.session.surface.nodes == (at["system"], again)


def test_sources_include_every_shadowed_node() -> None:
    story, at = told()
    covered = nodes(story, at["prompt"], at["said"])
    for missing in covered:
        cited = [seq for seq in covered if seq != missing]
        found = refused(story, "user/message", message(), replace(at["prompt"], at["said"]), cited)
        assert found == ("surface.replace", f"sources that include every shadowed node; {missing} is missing")


def test_only_a_system_prompt_replaces_the_system_prompt_and_nothing_else() -> None:
    story, at = told()
    system, prompt = at["system"], at["prompt"]
    found = refused(story, "user/message", message(), replace(system, prompt), [system, prompt])
    assert found == ("surface.replace", "only a system/message may replace the system prompt")
    for start, end in ((prompt, prompt), (system, prompt)):
        data = {"turn": 1, "step": 1, **SYSTEM}
        found = refused(story, "system/message", data, replace(start, end), nodes(story, start, end))
        assert found == ("surface.replace", "a replace of the system prompt alone")


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("a", "b", "a range that begins before the call of its first result"),
        ("b", "said", "a range that begins before the call of its first result"),
        ("asked", "a", "a range that ends after the last result of its calls"),
        ("prompt", "asked", "a range that ends after the last result of its calls"),
    ],
)
def test_a_replace_does_not_part_a_call_from_its_result(start: str, end: str, expected: str) -> None:
    story, at = told()
    covered = nodes(story, at[start], at[end])
    found = refused(story, "user/message", message(), replace(at[start], at[end]), covered)
    assert found == ("surface.pairs", expected)
    story.compact(at["prompt"], at["b"])


def test_an_answer_whose_calls_wait_is_not_shadowed() -> None:
    story = in_step()
    story.sent()
    asked = story.answer(calls=["a"]).seq
    found = refused(story, "user/message", message(), replace(asked, asked), [asked])
    assert found == ("surface.pairs", "an answer to call a before its message is shadowed")


def test_a_result_replaces_one_result_of_its_call_and_changes_only_its_content() -> None:
    story, at = told()
    a = at["a"]
    op, rule = replace(a, a), "surface.rewrite"
    data = result("a", text="cut")
    two = refused(story, "tool/result", data, replace(a, at["b"]), [a, at["b"]])
    assert two in {(rule, "a replace of exactly one tool/result"), ("surface.pairs", PARTS)}
    other = refused(story, "tool/result", result("b", text="cut"), op, [a])
    assert other == (rule, "a result of the same call")
    for change in ({"meta": 1}, {"more": True}):
        assert refused(story, "tool/result", {**data, **change}, op, [a]) == (
            rule,
            "a change of the block's content only",
        )
    bent: Any = result("a", text="cut")
    bent["message"]["id"] = "another"
    assert refused(story, "tool/result", bent, op, [a]) == (rule, "a change of the block's content only")
    replaced = story.session.append_json("tool/result", data, op, [a])
    assert story.session.surface.nodes[3] == replaced.seq


PARTS = "a range that begins before the call of its first result"


def test_a_result_replaces_nothing_but_a_result() -> None:
    story, at = told()
    said = at["said"]
    found = refused(story, "tool/result", result("a", step=2), replace(said, said), [said])
    assert found == ("surface.rewrite", "a replace of exactly one tool/result")


def test_every_replace_raises_the_generation_also_one_of_the_last_node() -> None:
    story, at = told()
    before = story.session.surface.generation
    story.compact(at["said"], at["said"])
    assert story.session.surface.generation == before + 1
