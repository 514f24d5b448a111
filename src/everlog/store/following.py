"""The events of a stored session as they come, also from other processes. All reading is done on other threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing

from everlog.session.errors import SessionCorrupt
from everlog.session.event import Event
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import Backend
from everlog.store.events import StoredEvents

_EVERY = 0.05
"""How often it looks for new events, in seconds."""
_AT_ONCE = 256
"""So many events are read at a time."""


async def follow_session(backend: Backend, id: str, vocabulary: Vocabulary, seq: int) -> AsyncIterator[Event]:
    """Give the events of a session from a seq on, and each new one as it is stored; without an end.

    Raises:
        SessionNotFound: there is no such session.
        SessionCorrupt: an event is damaged; those before it were given.
    """
    await asyncio.to_thread(backend.demand, id)
    with closing(await asyncio.to_thread(backend.reader, id)) as reader:
        stored = StoredEvents(id, reader, vocabulary)
        while True:
            events, damage = await asyncio.to_thread(_some, stored, seq)
            for event in events:
                yield event
            if damage is not None:
                raise damage
            seq += len(events)
            if not events:
                await asyncio.sleep(_EVERY)


def _some(stored: StoredEvents, seq: int) -> tuple[list[Event], SessionCorrupt | None]:
    """Give the next events that are there, up to a damaged one, and what is wrong with that."""
    events: list[Event] = []
    stop = min(stored.reader.end().next_seq, seq + _AT_ONCE)
    try:
        for event in stored.read(seq, stop) if seq < stop else ():
            events.append(event)
    except SessionCorrupt as damage:
        return events, damage
    return events, None
