"""Every log of the shared vectors reads as that program reads it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.interop.dsh.vectors import Closed, cases, kind_of_refusal, load, names, recording, session_bytes, short

from everlog.interop import dsh
from everlog.session import Event, Recording, Replace

TAKEN = cases(names(refused=False))


def expected(name: str) -> Any:
    return load(f"expected/{name}")


@pytest.mark.parametrize("name", TAKEN)
def test_it_has_the_same_number_of_events_and_every_seq_is_its_place(name: str) -> None:
    assert [event.seq for event in recording(name).events] == list(range(expected(name)["events"]))


@pytest.mark.parametrize("name", TAKEN)
def test_the_surface_and_its_messages_are_equal(name: str) -> None:
    assert list(recording(name).surface.nodes) == expected(name)["surface"]
    assert [message.value() for message in recording(name).messages()] == expected(name)["messages"]


@pytest.mark.parametrize("name", TAKEN)
def test_folding_the_messages_anew_gives_the_same(name: str) -> None:
    assert [message.value() for message in recording(name).project("messages")] == expected(name)["messages"]


@pytest.mark.parametrize("name", TAKEN)
def test_header_and_context_are_equal(name: str) -> None:
    header, context = recording(name).request_header(), recording(name).request_context()
    assert (header.value() if header else None) == expected(name)["header"]
    assert (context.value() if context else None) == expected(name)["context"]


@pytest.mark.parametrize("name", TAKEN)
def test_the_transcript_has_the_same_lines(name: str) -> None:
    assert [line.seq for line in recording(name).transcript()] == expected(name)["transcript"]


@pytest.mark.parametrize("name", TAKEN)
def test_every_replace_shadows_the_same_nodes(name: str) -> None:
    found = []
    for rewrite in recording(name).surface.rewrites:
        op = recording(name).events[rewrite.seq].surface_op
        assert isinstance(op, Replace)
        shadowed = list(rewrite.shadowed)
        found.append({"seq": rewrite.seq, "start": op.start_seq, "end": op.end_seq, "shadowedSeqs": shadowed})
    assert found == expected(name)["replacements"]


@pytest.mark.parametrize("name", TAKEN)
def test_the_whole_file_is_accepted(name: str) -> None:
    assert recording(name).committed_bytes == expected(name)["committed_bytes"]
    assert recording(name).torn_bytes == len(session_bytes(name)) - expected(name)["committed_bytes"]


@pytest.mark.parametrize("name", TAKEN)
def test_the_end_is_open_in_the_same_way(name: str) -> None:
    ledger = recording(name).ledger
    pending = [{"callId": id, "step": ledger.turns.step} for id in ledger.calls.pending]
    for call in pending:
        if call["callId"] in ledger.calls.taken:
            call["callSeq"] = ledger.calls.taken[call["callId"]]  # type: ignore[index]
    found = {"openTurn": ledger.turns.open_turn, "openStep": ledger.turns.open_step, "pendingCalls": pending}
    assert found == expected(name)["open"]


@pytest.mark.parametrize("name", TAKEN)
def test_the_closers_are_equal(name: str) -> None:
    closed = Closed(recording(name))
    assert closed.closers == [short(event) for event in expected(name)["closers"]]
    assert closed.surface == expected(name)["repaired_surface"]


@pytest.mark.parametrize("name", TAKEN)
def test_the_ends_of_seeds_are_where_they_were(name: str) -> None:
    found = [event.seq for event in recording(name).events if event.type == "session/end-seed"]
    assert found == expected(name)["end_seed"]["in_file"]


@pytest.mark.parametrize("name", cases(names(refused=True)))
def test_what_that_program_refuses_is_refused_with_an_error_of_the_same_kind(name: str) -> None:
    with pytest.raises(kind_of_refusal(expected(name)["refused_kind"])):
        dsh.read(session_bytes(name))


@pytest.mark.parametrize("name", TAKEN)
def test_every_projection_answers(name: str) -> None:
    from everlog.session.projection import names as projections

    for projection in projections():
        recording(name).project(projection)
        recording(name).project(projection, at=(len(recording(name).events) - 1) // 2)


@pytest.mark.parametrize("name", TAKEN)
def test_events_that_are_kept_give_the_same_log_again(name: str) -> None:
    log = recording(name)
    stored: list[Event] = list(log.events)
    again = Recording(log.header, stored)
    assert again.surface.nodes == log.surface.nodes
    assert again.messages() == log.messages()
