"""Which part of a damaged file counts: the shared vectors cut files at every byte of their ends, and break them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.interop.dsh.vectors import Closed, bytes_of, cases, kind_of_refusal, load, session_bytes, short

from everlog.interop import dsh

FAULTS = load("torn").get("faults", [])
CUTS = load("torn").get("cuts", {})


def broken(fault: Any) -> bytes:
    """The bytes of a fault: its own, or those of its base with pieces taken out and put in."""
    if "file_b64" in fault:
        return bytes_of(fault["file_b64"])
    data = session_bytes(fault["base"])
    for edit in sorted(fault["edits"], key=lambda edit: -edit["at"]):
        end = edit["at"] + edit["delete"]
        data = data[: edit["at"]] + bytes_of(edit.get("insert_b64")) + data[end:]
    return data


def agrees(log: dsh.DshRecording, expected: Any) -> None:
    assert (len(log.events), log.committed_bytes) == (expected["events"], expected["committed_bytes"])
    assert list(log.surface.nodes) == expected["surface"]
    assert Closed(log).closers == [short(event) for event in expected["closers"]]
    if "first_user_text" in expected:
        first = next(message for message in log.messages() if message.role == "user")
        assert first.text == expected["first_user_text"]


@pytest.mark.parametrize("fault", cases(FAULTS, lambda fault: f"{fault['base']}-{fault['name']}"))
def test_a_broken_file(fault: Any) -> None:
    expected = fault["expect"]
    if expected["refused"] is None:
        agrees(dsh.read(broken(fault)), expected)
        return
    with pytest.raises(kind_of_refusal(expected["kind"])):
        dsh.read(broken(fault))


@pytest.mark.parametrize("name", cases(CUTS))
def test_a_file_that_was_cut_at_any_byte(name: str) -> None:
    data = session_bytes(name)
    for offset, events, rest in CUTS[name]["rows"]:
        if events is None:
            with pytest.raises(kind_of_refusal("Error")):
                dsh.read(data[:offset])
        else:
            expected = {"events": events, "committed_bytes": rest, **CUTS[name]["by_events"][str(events)]}
            agrees(dsh.read(data[:offset]), expected)
