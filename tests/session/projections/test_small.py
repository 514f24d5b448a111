"""The small projections: header, context, title, to-dos, approvals, lineage, timeline."""

from __future__ import annotations

import pytest
from tests.session.stories import Story, plain_turn

from everlog.session.payloads import ApprovalAsked, ApprovalDecided, EndSeed, SessionTitle, Todo, TodoWrite
from everlog.session.projections.approvals import Approvals
from everlog.session.projections.lineage import Lineage
from everlog.session.projections.timeline import TurnSpan


def test_header_and_context_are_those_in_force_at_each_seq() -> None:
    story = Story()
    story.turn(), story.step()
    first, room = story.header("one"), story.context(100)
    second = story.header("two", reason="change")
    story.context(200)
    session = story.session
    assert session.project("header", at=0) is None
    assert session.project("context", at=0) is None
    assert session.project("header", at=first.seq).config["model"] == "one"
    assert session.project("header", at=second.seq - 1).config["model"] == "one"
    assert session.project("context", at=room.seq).context_window == 100
    assert session.project("header") == session.request_header()
    assert session.project("context") == session.request_context()
    assert session.project("context").context_window == 200


def test_the_last_title_and_the_last_list_win() -> None:
    story = Story()
    assert story.session.project("title") is None
    assert story.session.project("todos") == ()
    story.turn()
    story.session.append(SessionTitle(title="one"))
    story.session.append(TodoWrite(todos=(Todo(content="a", status="pending"), Todo(content="b", status="done"))))
    story.session.append(SessionTitle(title="two"))
    story.session.append(TodoWrite(todos=(Todo(content="c", status="done"),)))
    assert story.session.project("title") == "two"
    assert [todo.content for todo in story.session.project("todos")] == ["c"]
    assert [todo.content for todo in story.session.project("todos", at=2)] == ["a", "b"]


def asking() -> Story:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    story.answer(calls=["a", "b"]), story.call("a"), story.call("b")
    for id, call in (("x", "a"), ("y", "b")):
        story.session.append(ApprovalAsked(id=id, tool_name="read", call_id=call))
    return story


def pending(story: Story) -> list[str]:
    found: Approvals = story.session.project("approvals")
    return [ask.id for ask in found.pending]


def test_an_ask_waits_until_it_is_decided() -> None:
    story = asking()
    assert pending(story) == ["x", "y"]
    story.session.append(ApprovalDecided(id="y", outcome="rejected"))
    assert pending(story) == ["x"]


def test_an_ask_whose_call_is_answered_or_whose_turn_is_closed_does_not_wait() -> None:
    story = asking()
    story.result("a")
    assert pending(story) == ["y"]
    story.result("b"), story.end_step()
    story.session.append(ApprovalAsked(id="z", tool_name="bash"))
    assert pending(story) == ["z"]
    story.end_turn()
    assert pending(story) == []


def test_what_was_allowed_for_good_stands_and_a_fork_inherits_none() -> None:
    story = asking()
    story.session.append_json("approval/decided", {"id": "x", "outcome": "allowed-always", "rule": {"tool": "read"}})
    story.session.append(ApprovalDecided(id="y", outcome="allowed-once"))
    story.result("a"), story.result("b"), story.end_step(), story.end_turn()
    assert story.session.project("approvals").standing == ({"tool": "read"},)
    assert story.session.fork().project("approvals").standing == ()
    story.session.append(EndSeed())
    assert story.session.project("approvals").standing == ({"tool": "read"},)
    assert story.session.fork().project("approvals").standing == ()


def test_lineage_names_the_parent_what_came_from_it_and_every_resume() -> None:
    story = Story()
    plain_turn(story)
    resumed = story.session.append(EndSeed())
    child = story.session.fork()
    seed = child.append(EndSeed())
    found: Lineage = child.project("lineage")
    assert (found.parent, found.inherited, found.origin) == ("story", resumed.seq + 1, "fork")
    assert found.end_seeds == (resumed.seq, seed.seq)
    assert found.resumes == (seed.seq,)
    assert story.session.project("lineage").parent is None


def test_the_timeline_nests_what_began_and_ended() -> None:
    story = Story()
    start = story.turn()
    step = story.step()
    story.prompt("go"), story.header()
    sent = story.sent(1)
    failed = story.fail(1)
    story.retry(1)
    again = story.sent(2)
    answered = story.answer(calls=["a", "b"])
    taken = [story.call("a"), story.call("b")]
    settled = story.settle("b")
    first = story.result("a")
    story.result("b")
    closed, ended = story.end_step(), story.end_turn()
    turns: list[TurnSpan] = story.session.project("timeline")
    (turn,) = turns
    assert (turn.turn, turn.start, turn.end, turn.reason) == (1, start.time, ended.time, "completed")
    (inner,) = turn.steps
    assert (inner.step, inner.start, inner.end) == (1, step.time, closed.time)
    assert [(a.attempt, a.start, a.end) for a in inner.attempts] == [
        (1, sent.time, failed.time),
        (2, again.time, answered.time),
    ]
    assert [(t.call_id, t.name, t.start, t.end) for t in inner.tools] == [
        ("a", "read", taken[0].time, first.time),
        ("b", "read", taken[1].time, settled.time),
    ]


def test_what_is_open_has_no_end() -> None:
    story = asking()
    (turn,) = story.session.project("timeline")
    assert (turn.end, turn.reason, turn.steps[0].end) == (None, None, None)
    assert [tool.end for tool in turn.steps[0].tools] == [None, None]


@pytest.mark.parametrize("name", ["nothing", "", "Messages"])
def test_an_unknown_projection_is_named_in_the_error(name: str) -> None:
    with pytest.raises(KeyError, match="there are messages, transcript"):
        Story().session.project(name)


def test_the_timeline_tells_when_the_first_piece_came_and_how_long_a_person_was_asked() -> None:
    story = Story()
    story.turn(), story.step(), story.header(), story.sent()
    usage = {"kind": "usage", "t0": 1, "usage": {"inputTokens": 1}}
    story.chunk(records=[usage]), story.chunk("first"), story.chunk("second")
    story.answer(calls=["a"]), story.call("a")
    asked = story.session.append(ApprovalAsked(id="ask", tool_name="read", call_id="a"))
    decided = story.session.append(ApprovalDecided(id="ask", outcome="allowed-once"))
    story.result("a")
    [turn] = story.session.project("timeline")
    assert turn.steps[0].attempts[0].first == 5_000
    assert turn.steps[0].tools[0].waited == decided.time - asked.time > 0
