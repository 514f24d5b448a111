"""One event at a time: what that program takes, our sessions take, and its files read as it loads them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.interop.dsh.vectors import Appender, Closed, bytes_of, cases, kind_of_refusal, load, session_for

from everlog.interop import dsh
from everlog.interop.dsh.jsontext import parse
from everlog.interop.dsh.rows import Row
from everlog.session import AppendRefused, FormatUnsupported, SessionCorrupt

LOADED_ONLY = {"lines", "packed-rows", "header", "legacy"}
"""Families that are about the bytes of a file: only how it loads counts."""

LISTED = {"surface-marker", "replace", "tool-result-rewrite", "sources"}
"""Families of rules that a reader lists and does not refuse for: the row `rules-are-listed`."""

DIFFERENCES = {
    "tool/call that no assistant message requested": "unrequested-call",
    "step/end with a pending call": "call-left-unanswered",
    "request/header between steps": "header-between-steps",
    "user replaces tool/result node": "parted-pair",
    "two assistant messages in one step": "second-answer",
}
"""Probe -> the row of docs/dsh-differences.md that it falls under. Nothing else may differ."""

PROBES = load("probes") or []
APPENDED = [probe for probe in PROBES if probe["family"] not in LOADED_ONLY]


def name_of(probe: Any) -> str:
    return f"{probe['family']}: {probe['name']}"


def event_of(probe: Any) -> Row:
    """The event under test; a line that is not a JSON object raises ValueError."""
    if probe.get("event") is not None:
        event: Row = probe["event"]
        return event
    found = parse(probe["line"].encode())
    if not isinstance(found, dict):
        raise ValueError("not an event")
    return found


def in_a_step(appender: Appender, probe: Any) -> None:
    """Requests are made inside steps; the probes of their events leave that out."""
    turns = appender.session.ledger.turns
    if probe["family"] == "request-header" and turns.is_open and not turns.step_open:
        appender.append({"type": "step/start", "data": {"turn": turns.last, "step": turns.step + 1}, "time": 0})


def is_taken(appender: Appender, rows: list[Row]) -> bool:
    try:
        for row in rows:
            appender.append(row)
    except (AppendRefused, KeyError, ValueError):
        return False
    return True


def takes_event(appender: Appender, probe: Any) -> bool:
    if not is_taken(appender, probe.get("setup") or []):
        return False
    in_a_step(appender, probe)
    try:
        return is_taken(appender, [event_of(probe)])
    except ValueError:
        return False


def takes_rest(appender: Appender, probe: Any) -> bool:
    for row in probe["after"]:
        turns = appender.session.ledger.turns
        if row["type"] == "turn/end" and turns.step_open:
            appender.append({"type": "step/end", "data": {"turn": turns.last, "step": turns.step}, "time": 0})
        if not is_taken(appender, [row]):
            return False
    return True


@pytest.mark.parametrize("probe", cases(APPENDED, name_of))
def test_an_append_is_taken_exactly_when_that_program_takes_and_loads_it(probe: Any) -> None:
    appender = Appender(session_for(probe["header"]))
    theirs = probe["with_rules"] == "ok" and probe["load"] == "ok"
    ours = takes_event(appender, probe)
    assert ours == (theirs and probe["name"] not in DIFFERENCES)
    if ours and probe.get("after") and probe.get("with_rules_after") is not None:
        assert takes_rest(appender, probe) == (probe["with_rules_after"] == "ok")


def recording_or_refusal(data: bytes) -> dsh.DshRecording | Exception:
    try:
        return dsh.read(data)
    except (SessionCorrupt, FormatUnsupported) as refused:
        return refused


@pytest.mark.parametrize("probe", cases(PROBES, name_of))
def test_the_file_loads_as_it_does_there(probe: Any) -> None:
    data = bytes_of(probe["file_b64"])
    if probe["load"] == "ok":
        log = dsh.read(data)
        assert len(log.events) == probe["load_events"]
        assert [closer["type"] for closer in Closed(log).closers] == probe["load_closers"]
        return
    found = recording_or_refusal(data)
    if isinstance(found, dsh.DshRecording):
        assert probe["family"] in LISTED
        assert found.violations
    else:
        assert isinstance(found, kind_of_refusal(probe["load_kind"]))
