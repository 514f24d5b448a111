"""Whatever stands in a log of another program, it is read: to a recording that breaks no rule, and with no crash."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.interop.claude_code import test_reading as claude_code
from tests.interop.codex import test_reading as codex
from tests.interop.foreign import lines
from tests.interop.openhands import test_reading as openhands

from everlog.interop.chronicle import ForeignRecording
from everlog.interop.importing import FORMATS
from everlog.session import CORE

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 1 << 40) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
LOGS = {
    "claude-code": claude_code.TURN,
    "codex": codex.TURN,
    "openhands": openhands.SDK,
    "openhands, earlier": openhands.OLD,
}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the way to each value within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, item in inner for place in places(item, (*at, key)))]


@st.composite
def mangled(draw: st.DrawFn, log: tuple[Any, ...]) -> list[Any]:
    """Give a log of which values were replaced, records repeated, moved or left out."""
    records: list[Any] = [copy.deepcopy(record) for record in draw(st.permutations(log) | st.just(list(log)))]
    for _ in range(draw(st.integers(0, 3))):
        at, *way = draw(st.sampled_from([place for place in places(records) if place]))
        held, key = records, at
        for step in way:
            held, key = held[key], step
        held[key] = draw(JSON)
    del records[: draw(st.integers(0, 2))]
    return records + draw(st.lists(st.sampled_from(log), max_size=2))


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=150)
@given(data=st.data())
def test_no_log_is_too_odd_to_be_read(name: str, data: st.DataObject) -> None:
    records = data.draw(mangled(tuple(LOGS[name])))
    found = FORMATS[name.partition(",")[0]].read(lines(*records), CORE)
    assert isinstance(found, ForeignRecording)
    assert found.violations == ()
    said = len(found.transcript())
    assert said + sum(found.kept.values()) + sum(found.remarks.values()) > 0 or not records
