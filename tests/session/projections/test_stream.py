"""The stream is replayed token for token, with the pauses that there were."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.session.stories import Story

from everlog.session.projections.stream import Stream
from everlog.session.records import Delta, RecordPacker


def begun() -> Story:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    return story


def replay(story: Story) -> Stream:
    found: Stream = story.session.project("stream")
    return found


DELTAS = st.lists(
    st.builds(
        Delta,
        kind=st.sampled_from(["text", "reasoning", "tool-call"]),
        time=st.integers(0, 10_000),
        index=st.integers(0, 3),
        text=st.text(max_size=5),
        id=st.just(None),
    ),
    max_size=20,
)


@given(st.lists(DELTAS, max_size=4))
def test_no_delta_boundary_and_no_time_is_lost(runs: list[list[Delta]]) -> None:
    story = begun()
    for run in runs:
        packer = RecordPacker()
        for delta in run:
            packer.add(delta)
        story.chunk(records=packer.take())
    moments = list(replay(story))
    assert [moment.delta for moment in moments] == [delta for run in runs for delta in run]
    times = [moment.delta.time for moment in moments]
    assert [m.pause for m in moments[1:]] == [max(b - a, 0) for a, b in pairwise(times)]


def test_each_attempt_begins_its_own_pauses() -> None:
    story = begun()
    story.chunk(records=[{"kind": "text", "index": 0, "t0": 100, "dt": [7], "parts": ["a", "b"]}])
    story.fail(1), story.retry(1), story.sent(2)
    story.chunk(records=[{"kind": "text", "index": 0, "t0": 900, "dt": [3], "parts": ["c", "d"]}], attempt=2)
    found = replay(story)
    assert [(m.attempt, m.pause, m.delta.text) for m in found] == [(1, 0, "a"), (1, 7, "b"), (2, 0, "c"), (2, 3, "d")]
    assert [m.delta.text for m in found.of(1, 1, 2)] == ["c", "d"]
    assert [m.delta.text for m in found.of(1, 1)] == ["a", "b", "c", "d"]
    assert list(found.of(2, 1)) == []


def test_a_stream_that_a_foreign_answer_embeds_is_replayed_unless_there_are_chunks() -> None:
    stream = [{"kind": "text", "index": 0, "t0": 5, "dt": [1], "parts": ["x", "y"]}]
    message = {"id": "a", "role": "assistant", "content": [{"type": "text", "text": "xy"}]}
    message["source"] = {"kind": "model", "provider": "p", "model": "m"}  # type: ignore[assignment]
    data = {"turn": 1, "step": 1, "message": message, "stream": stream}
    embedded, chunked = begun(), begun()
    chunked.chunk("xy")
    for story in (embedded, chunked):
        story.session.append_json("assistant/message", data, "append")
    assert [m.delta.text for m in replay(embedded)] == ["x", "y"]
    assert [m.delta.text for m in replay(chunked)] == ["xy"]


def test_other_records_are_given_whole() -> None:
    story = begun()
    story.chunk(records=[{"kind": "finish", "t0": 9, "reason": "stop"}])
    (moment,) = replay(story)
    assert (moment.delta.kind, moment.delta.time) == ("finish", 9)
    assert moment.delta.record == {"kind": "finish", "t0": 9, "reason": "stop"}
