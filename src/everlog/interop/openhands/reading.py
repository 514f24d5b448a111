"""Reading a session of OpenHands: events of either generation to a recording."""

from __future__ import annotations

import hashlib

from everlog.interop.chronicle import Chronicle, ForeignRecording
from everlog.interop.documents import Document, Record, Source, Unreadable, elements, record_of
from everlog.interop.openhands.events import Events
from everlog.interop.openhands.parts import PROGRAM
from everlog.interop.openhands.trajectory import Trajectory
from everlog.interop.times import milliseconds
from everlog.session.header import Header
from everlog.session.jsonvalue import encode


def is_log(head: bytes) -> bool:
    """Tell whether the first bytes of a file are those of such a session."""
    start = head.lstrip()
    first = next(elements(iter([head])), b"") if start[:1] == b"[" else start.partition(b"\n")[0]
    record = record_of(first)
    if isinstance(record, Unreadable):
        record = record_of(start)
    if isinstance(record, Unreadable):
        return False
    return "source" in record and "timestamp" in record and bool({"kind", "action", "observation"} & record.keys())


def read(source: Source) -> ForeignRecording:
    """Read a session of OpenHands: an array, lines, or a folder of events, an event at a time.

    The log does not say its id; it is made of its first event.

    Raises:
        OSError: the file cannot be read.
    """
    document = Document(source)
    first = next((record for record in document.records() if not isinstance(record, Unreadable)), {})
    told = Chronicle(PROGRAM, PROGRAM, _header(first))
    reading = Events(told) if "kind" in first else Trajectory(told)
    for record in document.records():
        if isinstance(record, Unreadable):
            told.remark("events that are no records")
            told.keep("unreadable", {"text": record.text}, known=False)
            continue
        told.at(milliseconds(record.get("timestamp")))
        reading.take(record)
    return told.recording()


def _header(first: Record) -> Header:
    digest = hashlib.sha256(encode(first)).hexdigest()[:32]
    return Header(id=f"openhands-{digest}", created_at=milliseconds(first.get("timestamp")) or 0)
