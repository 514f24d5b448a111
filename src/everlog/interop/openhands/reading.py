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

_BESIDE = {"meta", "base_state", "metadata"}


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
    """Read a session of OpenHands: an array, lines, or a folder or zip archive of events, an event at a time.

    Where no file beside the events says the id of the conversation, it is made of the first event.

    Raises:
        OSError: the file cannot be read.
    """
    document = Document(source)
    first = next((record for record in document.records() if not isinstance(record, Unreadable)), {})
    beside = _beside(document)
    facts = next((record for _, record in beside if isinstance(record.get("id"), str)), {})
    told = Chronicle(PROGRAM, PROGRAM, _header(first, facts))
    _tell_beside(told, document, beside, facts)
    reading = Events(told) if "kind" in first else Trajectory(told)
    for record in document.records():
        if isinstance(record, Unreadable):
            told.remark("events that are no records")
            told.keep("unreadable", {"text": record.text}, known=False)
            continue
        told.at(milliseconds(record.get("timestamp")))
        reading.take(record)
    return told.recording()


def _beside(document: Document) -> list[tuple[str, Record]]:
    """Give what the files beside the events say, each with its name: `meta` in an archive, `base_state` in a folder."""
    found: list[tuple[str, Record]] = []
    for member in document.bundle.beside if document.bundle else ():
        record = record_of(member.read())
        name = member.name.rpartition(".")[0]
        if isinstance(record, Unreadable):
            found.append(("unreadable", {"name": name, "text": record.text}))
        else:
            found.append((name, record))
    return found


def _tell_beside(told: Chronicle, document: Document, beside: list[tuple[str, Record]], facts: Record) -> None:
    for name, record in beside:
        known = name in _BESIDE
        told.keep(name if known or name == "unreadable" else "file", record, known=known)
    for _ in document.bundle.others if document.bundle else ():
        told.remark("files that are no events")
    if isinstance(title := facts.get("title"), str) and title:
        told.title(title)


def _header(first: Record, facts: Record) -> Header:
    digest = hashlib.sha256(encode(first)).hexdigest()[:32]
    id, parent = facts.get("id"), facts.get("parent_conversation_id")
    return Header(
        id=id if isinstance(id, str) and id else f"openhands-{digest}",
        created_at=milliseconds(facts.get("created_at")) or milliseconds(first.get("timestamp")) or 0,
        parent_session=parent if isinstance(parent, str) and parent else None,
        delegation_depth=1 if isinstance(parent, str) and parent else None,
    )
