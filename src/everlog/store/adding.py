"""Adding a whole log that was made elsewhere, as it is: an import, or a copy from another store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw

from everlog.session.event import Event
from everlog.session.header import Header
from everlog.session.jsonvalue import one_line
from everlog.store import chain
from everlog.store.backend import Backend, End
from everlog.store.chain import Batch
from everlog.store.texts import preview_of, title_of

BATCH_BYTES = 4 * 1024 * 1024
"""About so many bytes of events are stored at once."""


def add(backend: Backend, header: Header, events: Iterable[Event]) -> None:
    """Store a log under a header, and return when it is durable; on the writer's thread. All of it, or nothing.

    Raises:
        SessionExists: the id of the header is taken.
        ValueError: the events are not numbered 0, 1, 2, and so on.
        OSError, sqlite3.Error, …: it could not be stored.
    """
    lease = backend.create(header)
    try:
        for batch in _batches(header.id, lease.end, events):
            lease.append(batch)
        lease.sync()
    except BaseException:
        lease.release()
        backend.purge(header.id)
        raise
    lease.release()


def _batches(session: str, end: End, events: Iterable[Event]) -> Iterator[Batch]:
    held: list[Event] = []
    data: list[bytes] = []
    size = 0
    for seq, event in enumerate(events, end.next_seq):
        held.append(event)
        data.append(_line(event, seq))
        size += len(data[-1])
        if size >= BATCH_BYTES:
            batch = _batch(session, end, held, data)
            yield batch
            end, held, data, size = End(batch.next_seq, batch.head), [], [], 0
    if held:
        yield _batch(session, end, held, data)


def _batch(session: str, end: End, events: list[Event], data: list[bytes]) -> Batch:
    titles = [title for event in events if event.type == "session/title" and (title := title_of(event))]
    previews = (preview_of(event) for event in events if event.type == "user/message")
    preview = next((found for found in previews if found is not None), None)
    seals = chain.seal(end.head, data)
    return Batch(session, end.next_seq, end.head, data, seals, titles[-1] if titles else None, preview)


def _line(event: Event, seq: int) -> bytes:
    """Give the bytes of an event as every store can keep them: one line that begins with the seq.

    Those of others may be spelled in other ways, with spaces after the colons or over many lines.
    """
    if event.seq != seq:
        raise ValueError(f"event {event.seq} stands where event {seq} should")
    data = one_line(event.to_json())
    if data.startswith(b'{"seq":%d,' % seq) and data.endswith(b"}"):
        return data
    members = _members.decode(data)
    del members["seq"]
    return b'{"seq":%d,%b}' % (seq, b",".join(b"%b:%b" % (_string(name), raw) for name, raw in members.items()))


_members = msgspec.json.Decoder(dict[str, Raw])
_string = msgspec.json.Encoder().encode
