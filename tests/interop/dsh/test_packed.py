"""Packed rows are unpacked without a loss, or not at all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.interop.dsh.samples import file, opened

from everlog.interop import dsh
from everlog.interop.dsh.packed import unpack

TEXT = {"turn": 1, "step": 1, "index": 0, "dt": [1, -1], "texts": ["a", "b", "c"]}
CALL = {"turn": 1, "step": 1, "index": 0, "dt": [2], "id": "c", "name": "read", "args": ["{", "}"]}


def row(type: str, data: Any, **envelope: Any) -> dict[str, Any]:
    return {"type": type, "seq0": 2, "time0": 5, "data": data} | envelope


def test_each_member_is_a_chunk_with_its_own_seq_and_time() -> None:
    found = unpack(row("text-chunks", TEXT))
    assert [(chunk["seq"], chunk["time"]) for chunk in found] == [(2, 5), (3, 6), (4, 5)]
    assert found[1]["data"] == {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "b"}}


def test_every_member_of_a_call_names_the_call_and_its_tool() -> None:
    chunks = [chunk["data"]["chunk"] for chunk in unpack(row("tool-call-chunks", CALL))]
    common = {"type": "tool-call-delta", "index": 0, "id": "c", "name": "read"}
    assert chunks == [common | {"argumentsDelta": "{"}, common | {"argumentsDelta": "}"}]


@pytest.mark.parametrize(
    "broken",
    [
        row("text-chunks", {**TEXT, "dt": [1]}),
        row("text-chunks", {**TEXT, "dt": [1, 0.5]}),
        row("text-chunks", {**TEXT, "dt": [1, True]}),
        row("text-chunks", {**TEXT, "dt": None}),
        row("text-chunks", {**TEXT, "texts": [], "dt": []}),
        row("text-chunks", {**TEXT, "texts": ["a", 1, "c"]}),
        row("text-chunks", {**TEXT, "more": 1}),
        row("text-chunks", {**TEXT, "name": "x"}),
        row("text-chunks", {**TEXT, "index": "0"}),
        row("text-chunks", {key: TEXT[key] for key in TEXT if key != "turn"}),
        row("text-chunks", CALL),
        row("text-chunks", None),
        row("text-chunks", TEXT, seq=2),
        row("text-chunks", TEXT, ignorable=True),
        row("text-chunks", TEXT, seq0=-1),
        row("text-chunks", TEXT, time0=0.5),
        row("text-chunks", TEXT, time0=2**53 - 1),
        {"type": "text-chunks", "seq": 2, "time": 5, "data": TEXT},
        row("tool-call-chunks", {**CALL, "name": 5}),
        row("tool-call-chunks", {**CALL, "id": None}),
        row("tool-call-chunks", {key: CALL[key] for key in CALL if key != "id"}),
    ],
)
def test_a_row_of_another_form_is_not_taken(broken: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack(broken)


@given(st.lists(st.tuples(st.text(), st.integers(-1_000, 1_000)), min_size=1, max_size=20))
def test_reading_keeps_every_delta_boundary_and_time(deltas: list[tuple[str, int]]) -> None:
    data = {**TEXT, "texts": [text for text, _ in deltas], "dt": [pause for _, pause in deltas[1:]]}
    log = dsh.read(file(opened(row("text-chunks", data))))
    moments = list(log.project("stream"))
    assert [moment.delta.text for moment in moments] == data["texts"]
    assert [moment.seq for moment in moments] == list(range(2, 2 + len(deltas)))
    times = [moment.delta.time for moment in moments]
    assert [after - before for before, after in pairwise(times)] == data["dt"]
