"""Forks of a log of that program, at every boundary and at seqs that it does not have."""

from __future__ import annotations

from typing import Any

import pytest
from tests.interop.dsh.vectors import cases, load, recording

from everlog.session import CORE, Event, ForkRefused, Recording
from everlog.session.fork import fork
from everlog.session.repair import closers

FORKS = load("forks").get("sessions", {})


def resumed(name: str) -> Recording:
    """The log as that program has it after a resume: with its closers and the end of its seed."""
    log = recording(name)
    events = [*log.events, *closers(log)]
    if events[-1].type != "session/end-seed":
        events.append(Event(len(events), "session/end-seed", events[-1].time, b"{}", kind=CORE["session/end-seed"]))
    return Recording(log.header, events)


def outcome(source: Recording, at: Any) -> Any:
    try:
        return fork(source, None if at == "omitted" else at)
    except ForkRefused as refused:
        return refused.code


@pytest.mark.parametrize("name", cases(FORKS))
def test_the_fork_at_every_boundary(name: str) -> None:
    source = resumed(name)
    assert source.next_seq == FORKS[name]["source_events"]
    for expected in FORKS[name]["forks"]:
        at = expected["boundary"]
        child = outcome(source, at)
        if "error" in expected:
            assert child == expected["error"], f"at {at}"
            continue
        assert child.header.inherited_events == expected["seedLength"], f"at {at}"
        assert child.header.parent_session == expected["header"]["parentSession"]
        assert child.header.cwd == expected["header"]["cwd"]
        assert len(child.events) == expected["events"], f"at {at}"
        assert list(child.surface.nodes) == expected["surface"], f"at {at}"
