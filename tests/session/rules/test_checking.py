"""Judging a log lists what its events break, those of unknown types too."""

from __future__ import annotations

from everlog.session import Recording, new_header, read_event


def test_an_unknown_event_that_may_be_skipped_still_carries_no_marks_of_the_surface() -> None:
    line = b'{"seq":0,"type":"vendor/note","time":1,"data":{},"ignorable":true,"surfaceOp":"append"}'
    recording = Recording(new_header(), [read_event(line)])
    assert [violation.rule for violation in recording.violations] == ["surface.marks"]
