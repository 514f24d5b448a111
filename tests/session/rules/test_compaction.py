"""One compaction at a time, ended by an error or by exactly one landing; a turn does not cross it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.rules.refusals import message, refused, replace, result
from tests.session.stories import Story, plain_turn

ERROR = {"message": "cancelled", "code": "ABORTED"}


def start(id: str = "c", turn: int | None = None, **more: Any) -> dict[str, Any]:
    return {"compactionId": id, "turn": turn, "trigger": "manual", **more}


def end(id: str = "c", turn: int | None = None, **more: Any) -> dict[str, Any]:
    return {"compactionId": id, "turn": turn, **more}


def shadow(*seqs: int, tokens: float = 5) -> dict[str, Any]:
    ends = {"startSeq": seqs[0] if seqs else 0, "endSeq": seqs[-1] if seqs else 0}
    return {"shadowedRange": ends, "shadowedSeqs": list(seqs), "shadowedTokens": tokens}


def summary(*seqs: int, id: str = "c", **more: Any) -> dict[str, Any]:
    return {"compactionId": id, "summary": [], "provider": "p", "model": "m", **shadow(*seqs), **more}


def checkpoint(id: str | None) -> dict[str, Any]:
    return message("user", {"kind": "plugin", "plugin": "compaction", **({"compactionId": id} if id else {})})


def told() -> tuple[Story, list[int]]:
    """A story of one turn, and its nodes."""
    story = Story()
    plain_turn(story)
    return story, list(story.session.surface.nodes)


def opened(**more: Any) -> tuple[Story, list[int]]:
    story, nodes = told()
    story.session.append_json("compaction/start", start(**more))
    return story, nodes


def summarised() -> tuple[Story, list[int]]:
    story, nodes = opened()
    story.session.append_json("compaction/summary", summary(*nodes))
    return story, nodes


def landed() -> tuple[Story, list[int]]:
    story, nodes = summarised()
    story.session.append_json("user/message", checkpoint("c"), replace(nodes[0], nodes[-1]), nodes)
    return story, nodes


def test_a_compaction_starts_summarises_lands_and_ends() -> None:
    story, _ = landed()
    story.session.append_json("compaction/end", end())
    assert story.session.ledger.compactions.open is None


def test_one_is_open_at_a_time() -> None:
    story, _ = opened()
    assert refused(story, "compaction/start", start("d")) == ("compaction.start", "compaction c is still open")


def test_a_start_names_the_open_turn_or_null_between_turns() -> None:
    story, _ = told()
    assert refused(story, "compaction/start", start(turn=1)) == ("compaction.start", "turn null as its owner, not 1")
    story.turn()
    for turn in (None, 1):
        rule, expected = refused(story, "compaction/start", start(turn=turn))
        assert (rule, expected) == ("compaction.start", f"turn 2 as its owner, not {'null' if turn is None else turn}")
    story.session.append_json("compaction/start", start(turn=2))


def test_a_summary_belongs_to_the_open_compaction_once_and_to_its_command() -> None:
    story, nodes = told()
    assert refused(story, "compaction/summary", summary(*nodes)) == ("compaction.summary", "an open compaction c")
    story, nodes = opened(sourceCommandId="k")
    rule, expected = refused(story, "compaction/summary", summary(*nodes, id="d", sourceCommandId="k"))
    assert (rule, expected) == ("compaction.summary", "an open compaction d")
    rule, expected = refused(story, "compaction/summary", summary(*nodes))
    assert (rule, expected) == ("compaction.summary", "the sourceCommandId of its start, k")
    story.session.append_json("compaction/summary", summary(*nodes, sourceCommandId="k"))
    rule, expected = refused(story, "compaction/summary", summary(*nodes, sourceCommandId="k"))
    assert (rule, expected) == ("compaction.summary", "one summary in a compaction")


def test_a_summary_shadows_something_and_counts_from_zero() -> None:
    story, nodes = opened()
    assert refused(story, "compaction/summary", summary()) == ("compaction.summary", "at least one shadowed seq")
    for tokens in (-1, 1.5):
        data = {**summary(*nodes), "shadowedTokens": tokens}
        assert refused(story, "compaction/summary", data)[0] == "compaction.summary"
    story.session.append_json("compaction/summary", {**summary(*nodes), "shadowedTokens": 0})


def test_a_replacement_names_the_open_compaction_and_none_without_one() -> None:
    story, nodes = told()
    op = replace(nodes[0], nodes[-1])
    found = refused(story, "user/message", checkpoint("c"), op, nodes)
    assert found == ("compaction.replacement", "an open compaction c")
    story, nodes = summarised()
    for named in ("d", None):
        found = refused(story, "user/message", checkpoint(named), op, nodes)
        assert found == ("compaction.replacement", "the compactionId c in the source of the replacement")


def test_a_replacement_that_names_a_command_names_that_of_the_start() -> None:
    story, nodes = opened(sourceCommandId="k")
    story.session.append_json("compaction/summary", summary(*nodes, sourceCommandId="k"))
    op = replace(nodes[0], nodes[-1])
    for command in ("other", None):
        data = checkpoint("c")
        data["source"]["sourceCommandId"] = command
        found = refused(story, "user/message", data, op, nodes)
        assert found == ("compaction.replacement", "the sourceCommandId of its start, k")
    story.session.append_json("user/message", checkpoint("c"), op, nodes)


def test_exactly_one_summary_precedes_exactly_one_replacement() -> None:
    story, nodes = opened()
    op, expected = replace(nodes[0], nodes[-1]), "exactly one compaction/summary before its one replacement"
    assert refused(story, "user/message", checkpoint("c"), op, nodes) == ("compaction.replacement", expected)
    story, _ = landed()
    (only,) = story.session.surface.nodes
    found = refused(story, "user/message", checkpoint("c"), replace(only, only), [only])
    assert found == ("compaction.replacement", expected)


def test_what_the_summary_shadows_is_what_the_replacement_shadows() -> None:
    story, nodes = summarised()
    found = refused(story, "user/message", checkpoint("c"), replace(nodes[0], nodes[0]), nodes[:1])
    assert found == ("compaction.replacement", f"the shadowedSeqs of the summary, {nodes}")


def test_an_end_names_the_turn_and_the_command_of_its_start() -> None:
    story, _ = opened(sourceCommandId="k")
    rule = "compaction.end"
    assert refused(story, "compaction/end", end("d", error=ERROR)) == (rule, "an open compaction d")
    found = refused(story, "compaction/end", end(turn=1, error=ERROR, sourceCommandId="k"))
    assert found == (rule, "the turn of its start, null, not 1")
    found = refused(story, "compaction/end", end(error=ERROR))
    assert found == (rule, "the sourceCommandId of its start, k")
    story.session.append_json("compaction/end", end(error=ERROR, sourceCommandId="k"))
    found = refused(story, "compaction/end", end(error=ERROR, sourceCommandId="k"))
    assert found == (rule, "an open compaction c")


@pytest.mark.parametrize("more", [{}, {"error": None}])
def test_an_end_has_an_error_or_a_landing_before_it(more: dict[str, Any]) -> None:
    for story, _ in (opened(), summarised()):
        expected = "an error, or one compaction/summary and its replacement"
        assert refused(story, "compaction/end", end(**more)) == ("compaction.end", expected)
        story.session.append_json("compaction/end", end(error=ERROR))


def test_a_turn_does_not_cross_an_open_compaction() -> None:
    story, _ = opened()
    assert refused(story, "turn/start", {"turn": 2}) == ("compaction.crossed", "the end of compaction c first")
    story, _ = told()
    story.turn(), story.session.append_json("compaction/start", start(turn=2))
    for kind in ("completed", "aborted", "blocked"):
        found = refused(story, "turn/end", {"turn": 2, "reason": {"kind": kind}})
        assert found == ("compaction.crossed", "the end of compaction c first")


@pytest.mark.parametrize("kind", ["interrupted", "forked"])
def test_a_crash_or_a_fork_leaves_it_behind(kind: str) -> None:
    story, _ = told()
    story.turn(), story.session.append_json("compaction/start", start(turn=2)), story.end_turn(kind)
    story.session.append_json("compaction/start", start("d"))


def test_an_end_seed_leaves_it_behind() -> None:
    story, _ = opened()
    story.session.append_json("session/end-seed", {})
    assert refused(story, "compaction/end", end(error=ERROR)) == ("compaction.end", "an open compaction c")
    story.turn()


def pruned() -> tuple[Story, int]:
    """A story with a result on its surface, between turns."""
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.sent(), story.answer(calls=["a"]), story.call("a")
    seq = story.result("a").seq
    story.end_step(), story.end_turn()
    return story, seq


def test_between_turns_a_prune_stands_inside_a_compaction_and_names_it() -> None:
    story, seq = pruned()
    rule = "compaction.prune"
    assert refused(story, "compaction/prune", shadow(seq)) == (
        rule,
        "an open compaction, named by the prune, between turns",
    )
    found = refused(story, "tool/result", result("a", text="cut"), replace(seq, seq), [seq])
    assert found == (rule, "an open compaction around a replaced tool/result between turns")
    story.session.append_json("compaction/start", start())
    assert refused(story, "compaction/prune", {**shadow(seq), "compactionId": "d"}) == (rule, "an open compaction d")
    story.session.append_json("compaction/prune", {**shadow(seq), "compactionId": "c"})
    story.session.append_json("tool/result", result("a", text="cut"), replace(seq, seq), [seq])


def test_in_a_turn_it_needs_none() -> None:
    story, seq = pruned()
    story.turn()
    assert refused(story, "compaction/prune", shadow()) == ("compaction.prune", "at least one shadowed seq")
    story.prune(seq)
