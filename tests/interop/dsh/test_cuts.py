"""After each event of a log, the closers are those that the program would write, our interrupted prefix aside."""

from __future__ import annotations

import pytest
from tests.interop.dsh.vectors import Closed, cases, file_of, load, rows, session_bytes, short

from everlog.interop import dsh

CUTS = load("cuts").get("sessions", {})


@pytest.mark.parametrize("name", cases(CUTS))
def test_the_closers_at_every_cut(name: str) -> None:
    data = session_bytes(name)
    header, events = data.partition(b"\n")[0], rows(data)
    for cut in CUTS[name]["cuts"]:
        closed = Closed(dsh.read(file_of(header, events[: cut["k"]])))
        assert closed.closers == [short(event) for event in cut["closers"]], f"after {cut['k']} events"
        assert closed.surface == cut["surface"], f"after {cut['k']} events"


@pytest.mark.parametrize("name", cases(CUTS))
def test_closing_twice_adds_nothing_twice(name: str) -> None:
    from everlog.session import Recording
    from everlog.session.repair import closers

    data = session_bytes(name)
    header, events = data.partition(b"\n")[0], rows(data)
    for cut in CUTS[name]["cuts"][::7]:
        log = dsh.read(file_of(header, events[: cut["k"]]))
        assert closers(Recording(log.header, [*log.events, *closers(log)])) == []
