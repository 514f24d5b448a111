"""Whatever stands in the rows of a file, what is read of it can be asked everything."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.interop.dsh.samples import answer, call, chunk, file, opened, result, turn_end, user

from everlog.errors import EverlogError
from everlog.interop import dsh
from everlog.interop.dsh.vocabulary import OWN
from everlog.session import ForkRefused
from everlog.session.fork import fork
from everlog.session.projection import names
from everlog.session.repair import closers

KEYS = ["turn", "step", "message", "content", "reason", "kind", "header", "chunk", "inserted", "target", "start",
        "compactionId", "shadowedSeqs", "callId", "id", "name", "source", "stream"]  # fmt: skip
JSON: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)
SOUND: list[Any] = [
    *opened(user(), answer("c", "d"), call("c"), call("d"), result("c"), result("d")),
    chunk(type="text-delta", index=0, text="a"),
    {"type": "step/end", "data": {"turn": 1, "step": 1}},
    turn_end(),
    {"type": "session/end-seed", "data": {}},
    {"type": "compaction/start", "data": {"compactionId": "k", "turn": 1}},
    {"type": "agent/inbox/spliced", "data": {"target": "next-turn", "start": 0, "inserted": [user()["data"]]}},
]
ENVELOPES = st.fixed_dictionaries(
    {},
    optional={
        "surfaceOp": st.just("append")
        | st.fixed_dictionaries({"op": st.just("replace"), "start": st.integers(0, 9), "end": st.integers(0, 9)}),
        "sourceEventSeqs": st.lists(st.integers(0, 9), max_size=3),
        "ignorable": st.just(True),
    },
)


@st.composite
def foreign(draw: st.DrawFn) -> Any:
    """A row of the right outer shape: a sound one somewhere, perhaps with a key changed, or any data at all."""
    if draw(st.booleans()):
        row = json.loads(json.dumps(draw(st.sampled_from(SOUND))))
        if draw(st.booleans()) and isinstance(row["data"], dict):
            row["data"][draw(st.sampled_from(KEYS))] = draw(JSON)
        return row
    return {"type": draw(st.sampled_from(sorted(OWN))), "data": draw(JSON), **draw(ENVELOPES)}


@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(foreign(), max_size=12))
def test_whatever_is_read_answers_every_question(rows: list[Any]) -> None:
    try:
        log = dsh.read(file(rows))
    except EverlogError:
        return
    for name in names():
        log.project(name)
    _ = list(log.messages()), list(log.project("stream")), log.violations
    assert [event.seq for event in closers(log)] == list(range(len(rows), len(rows) + len(closers(log))))
    try:
        child = fork(log, open_turn="close")
    except ForkRefused:
        return
    assert not child.ledger.turns.is_open
