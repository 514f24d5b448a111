"""Judging a log lists what its events break, those of unknown types too."""

from __future__ import annotations

from tests.session.stories import Story

from everlog.session import Recording, new_header, read_event
from everlog.session.fork import fork
from everlog.session.jsonvalue import encode


def test_an_unknown_event_that_may_be_skipped_still_carries_no_marks_of_the_surface() -> None:
    line = b'{"seq":0,"type":"vendor/note","time":1,"data":{},"ignorable":true,"surfaceOp":"append"}'
    recording = Recording(new_header(), [read_event(line)])
    assert [violation.rule for violation in recording.violations] == ["surface.marks"]


def test_a_result_that_breaks_a_demand_of_its_shape_still_answers_its_call() -> None:
    story = Story()
    story.turn()
    story.step()
    story.answer(calls=["c"])
    story.call("c")
    block = {"type": "tool-result", "toolCallId": "c", "content": [], "isError": False}
    message = {"id": "r", "role": "user", "content": [block], "source": {"kind": "tool", "callId": "other"}}
    odd = {"turn": 1, "step": 1, "message": message}
    line = encode({"seq": 4, "type": "tool/result", "time": 1, "data": odd, "surfaceOp": "append"})
    recording = Recording(new_header(), [*story.session.events, read_event(line)])
    assert [violation.rule for violation in recording.violations] == ["shape"]
    assert recording.ledger.calls.pending == fork(recording, open_turn="close").ledger.calls.pending == []
