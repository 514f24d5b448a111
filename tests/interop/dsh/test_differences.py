"""Each row of docs/dsh-differences.md, shown; the sentence it quotes is one of the contract's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.interop.dsh.samples import file, message, result, step, user
from tests.interop.dsh.test_probes import DIFFERENCES
from tests.interop.dsh.vectors import ROOT, cases, load, recording
from tests.session.stories import Story

from everlog.interop import dsh
from everlog.session import AppendRefused, Recording, RuleViolation, Session
from everlog.session.repair import closers

PAGE = ROOT / "docs" / "dsh-differences.md"
CONTRACT = ROOT.parent / "shared" / "design.md"


def rows() -> dict[str, str]:
    """Name of each row -> the sentence that it quotes."""
    found = re.findall(r'^\| `([a-z-]+)` \|.*\| "(.+)" \|$', PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(found)


def in_step() -> Story:
    story = Story()
    story.turn()
    story.step()
    return story


def refuses(rule: str, act: Callable[[], Any]) -> None:
    with pytest.raises(RuleViolation) as refused:
        act()
    assert refused.value.rule == rule


def unrequested_call() -> None:
    refuses("calls.call", lambda: in_step().call("c"))


def call_left_unanswered() -> None:
    story = in_step()
    story.answer(calls=["c"])
    refuses("calls.answered-first", story.end_step)


def header_between_steps() -> None:
    story = in_step()
    story.end_step()
    with pytest.raises(RuleViolation, match="a place inside a step"):
        story.header()
    with pytest.raises(RuleViolation, match="a place inside a step"):
        story.context()


def results_in_call_order() -> None:
    story = in_step()
    story.answer(calls=["a", "b"])
    story.call("a")
    story.call("b")
    refuses("calls.result", lambda: story.result("b"))


def parted_pair() -> None:
    story = in_step()
    asked = story.answer(calls=["a"])
    story.call("a")
    story.result("a")
    story.end_step()
    refuses("surface.pairs", lambda: story.compact(asked.seq, asked.seq))


def second_answer() -> None:
    story = in_step()
    story.answer("one")
    refuses("attempts.message", lambda: story.answer("two"))


def compaction_left_open() -> None:
    story = Story()
    story.turn()
    story.session.append_json("compaction/start", {"compactionId": "c", "turn": 1, "trigger": "manual"})
    refuses("compaction.crossed", story.end_turn)
    log = Recording(story.session.header, [*story.session.events, *closers(story.session)])
    assert log.violations == ()


def interrupted_prefix() -> None:
    story = in_step()
    chunk = story.chunk("so far")
    prefix, *rest = closers(story.session)
    assert (prefix.type, prefix.source_event_seqs) == ("assistant/message", (chunk.seq,))
    assert [event.type for event in rest] == ["step/end", "turn/end"]


def rules_are_listed() -> None:
    lost = {**user(1), "surfaceOp": {"op": "replace", "start": 0, "end": 0}}
    log = dsh.read(file([{"type": "turn/start", "data": {"turn": 1}}, lost]))
    assert [(violation.seq, violation.rule) for violation in log.violations] == [(1, "surface.replace")]


def lone_surrogates() -> None:
    with pytest.raises(AppendRefused, match="lone surrogate"):
        Session.create().append_json("user/message", message("user", "\ud800"), "append")
    log = dsh.read(file([user(0)]).replace(b"hello", b"a\\ud800b"))
    assert log.messages()[0].text == "a\ufffdb"


def depth() -> None:
    deep: Any = []
    for _ in range(600):
        deep = [deep]
    session = Session.create()
    session.append_json("turn/start", {"turn": 1})
    with pytest.raises(AppendRefused, match="deeper than 500"):
        session.append_json("todo/write", {"todos": deep})
    with pytest.raises(dsh.LogDamaged, match="deeper than 500"):
        dsh.read(file([{"type": "todo/write", "data": {"todos": deep}}]))


SHOWN = {
    "unrequested-call": unrequested_call,
    "call-left-unanswered": call_left_unanswered,
    "header-between-steps": header_between_steps,
    "results-in-call-order": results_in_call_order,
    "parted-pair": parted_pair,
    "second-answer": second_answer,
    "compaction-left-open": compaction_left_open,
    "interrupted-prefix": interrupted_prefix,
    "rules-are-listed": rules_are_listed,
    "lone-surrogates": lone_surrogates,
    "depth": depth,
}


def test_every_row_is_shown_and_every_difference_of_the_probes_is_a_row() -> None:
    assert set(rows()) == set(SHOWN)
    assert set(DIFFERENCES.values()) <= set(rows())


@pytest.mark.parametrize("name", SHOWN)
def test_the_difference_is_as_its_row_says(name: str) -> None:
    SHOWN[name]()


@pytest.mark.skipif(not CONTRACT.exists(), reason="the contract is not beside this repository")
@pytest.mark.parametrize("name", SHOWN)
def test_the_sentence_is_one_of_the_contract(name: str) -> None:
    contract = " ".join(CONTRACT.read_text(encoding="utf-8").split())
    assert rows()[name] in contract


RULES = {
    "calls.result": "results-in-call-order",
    "surface.pairs": "parted-pair",
}
"""Rule of ours -> the row it falls under, for logs of which that program's own rules took every event."""


@pytest.mark.parametrize("name", cases([name for name, entry in load("index").items() if entry["class"] == "random"]))
def test_a_log_that_its_rules_took_breaks_only_rules_of_the_table(name: str) -> None:
    assert {violation.rule for violation in recording(name).violations} <= set(RULES)


def test_the_flat_step_of_the_samples_breaks_no_rule() -> None:
    assert dsh.read(file(step(result("c")))).violations == ()
