"""The transcript shows what a person saw; nothing that shortens the model's view removes a line of it."""

from __future__ import annotations

from tests.session.stories import Story, plain_turn

from everlog.session import Session
from everlog.session.projections.transcript import Line


def lines(session: Session, at: int | None = None) -> list[Line]:
    found: list[Line] = session.project("transcript", at)
    return found


def said(line: Line) -> str:
    return "".join(str(block.value().get("text", "")) for block in line.blocks)


def test_every_message_is_a_line_in_order() -> None:
    story = Story()
    story.turn(), story.step(), story.system("be brief"), story.prompt("go"), story.header(), story.sent()
    story.answer("look", calls=["c1"]), story.call("c1"), story.result("c1"), story.end_step(), story.end_turn()
    found = lines(story.session)
    assert [line.event.type for line in found] == [
        "system/message",
        "user/message",
        "assistant/message",
        "tool/result",
    ]
    assert [line.seq for line in found] == [line.event.seq for line in found]
    assert [line.message for line in found] == list(story.session.messages())
    assert {line.shadowed_by for line in found} == {None}


def test_compaction_removes_no_line_and_marks_what_it_shadows() -> None:
    story = Story()
    plain_turn(story, "first", "one"), plain_turn(story, "second", "two")
    before = [line.seq for line in lines(story.session)]
    nodes = story.session.surface.nodes
    checkpoint = story.compact(nodes[0], nodes[2])
    found = lines(story.session)
    assert [line.seq for line in found] == before
    assert [line.shadowed_by for line in found] == [checkpoint.seq] * 3 + [None]
    again = story.compact(checkpoint.seq, nodes[3], id="c2")
    assert [line.shadowed_by for line in lines(story.session)] == [checkpoint.seq] * 3 + [again.seq]


def test_a_pruned_result_keeps_its_line_and_its_text() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    story.answer(calls=["c1"]), story.call("c1")
    result = story.result("c1", "a long result")
    pruned = story.prune(result.seq)
    line = lines(story.session)[-1]
    assert (line.seq, line.shadowed_by) == (result.seq, pruned.seq)
    assert b"a long result" in line.event.to_json()


def test_failed_and_cancelled_attempts_are_lines_with_what_they_streamed() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header()
    story.sent(1), story.chunk("half an "), story.chunk("answer"), story.fail(1), story.retry(1)
    story.sent(2), story.fail(2, code=None)
    failed, cancelled = lines(story.session)[1:]
    assert (failed.event.type, failed.message, said(failed)) == ("assistant/attempt", None, "half an answer")
    assert failed.failure is not None
    assert failed.failure.code == "SERVER"
    assert (cancelled.failure, said(cancelled)) == (None, "")


def test_an_interrupted_answer_is_marked() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent(), story.chunk("ha")
    story.answer("ha", interrupted=True)
    assert [line.interrupted for line in lines(story.session)] == [False, True]


def test_a_failed_attempt_of_a_foreign_log_tells_the_stream_that_it_embeds() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go")
    stream = [{"kind": "text", "index": 0, "t0": 1, "dt": [2], "parts": ["ha", "lf"]}]
    story.session.append_json("assistant/attempt", {"turn": 1, "step": 1, "attempt": 1, "stream": stream})
    assert said(lines(story.session)[-1]) == "half"


def test_an_answer_without_content_is_a_line_without_message() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent(), story.answer("")
    assert [line.message is None for line in lines(story.session)] == [False, True]


def test_as_of_a_seq_later_lines_and_marks_are_not_there() -> None:
    story = Story()
    plain_turn(story)
    before = [(line.seq, line.shadowed_by) for line in lines(story.session)]
    last = story.session.next_seq - 1
    nodes = story.session.surface.nodes
    story.compact(nodes[0], nodes[-1]), plain_turn(story)
    assert [(line.seq, line.shadowed_by) for line in lines(story.session, at=last)] == before
