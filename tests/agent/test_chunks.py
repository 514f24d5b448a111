"""A stream goes to the log in short runs, so that a killed process loses little of it."""

import asyncio
from collections.abc import Iterator

import pytest

from everlog.agent import chunks
from everlog.agent.chunks import ChunkWriter
from everlog.llm import deltas
from everlog.session import AppendRefused, Session
from everlog.session.payloads import StepStart, TurnStart
from everlog.session.records import Delta, deltas_of


@pytest.fixture
def session() -> Session:
    session = Session.create()
    session.append(TurnStart(turn=1))
    session.append(StepStart(turn=1, step=1))
    return session


def stored(session: Session) -> Iterator[Delta]:
    for event in session.events:
        yield from deltas_of(event)


async def test_deltas_of_one_window_are_one_event_and_lose_no_boundary(session: Session) -> None:
    writer = ChunkWriter(session, 1)
    given = [deltas.text(0, piece) for piece in ("a", "b", "", "c")]
    for delta in given:
        writer.add(delta)
    assert session.next_seq == 2
    writer.close()
    assert [(delta.text, delta.time) for delta in stored(session)] == [(delta.text, delta.time) for delta in given]
    assert writer.seqs == [2]


async def test_a_window_closes_by_itself_when_nothing_more_comes(session: Session) -> None:
    writer = ChunkWriter(session, 1)
    writer.add(deltas.text(0, "a"))
    await asyncio.sleep(chunks.WINDOW * 1.5)
    assert writer.seqs == [2]
    writer.close()
    assert session.next_seq == 3


async def test_the_end_of_a_block_and_a_size_close_it_at_once(session: Session) -> None:
    writer = ChunkWriter(session, 1)
    writer.add(deltas.text(0, "a"))
    writer.add(deltas.block_end(0))
    assert writer.seqs == [2]
    writer.add(deltas.text(1, "b" * chunks.SIZE))
    assert writer.seqs == [2, 3]


async def test_a_discarded_writer_writes_nothing_more(session: Session) -> None:
    writer = ChunkWriter(session, 1)
    writer.add(deltas.text(0, "a"))
    writer.discard()
    await asyncio.sleep(chunks.WINDOW * 1.5)
    assert session.next_seq == 2


async def test_what_a_window_could_not_write_is_told_by_the_next_delta(session: Session) -> None:
    writer = ChunkWriter(session, attempt=7)
    writer.add(deltas.text(0, "a"))
    await asyncio.sleep(chunks.WINDOW * 1.5)
    with pytest.raises(AppendRefused):
        writer.add(deltas.text(0, "b"))
