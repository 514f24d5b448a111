"""Taking in a log that another program kept: it becomes a session when it breaks no rule, else a recording.

What is imported keeps its id and the seqs of its events. Its header says `origin: "import"`, and
`recording: true` when it can only be looked at; a store opens such a one for reading only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from everlog.interop import dsh
from everlog.session import FormatUnsupported, Header, Recording, Session, read_header
from everlog.session.jsonvalue import encode
from everlog.session.live import Clock
from everlog.session.reloading import reload
from everlog.store.seam import Store


@dataclass(frozen=True)
class Format:
    """A form of log that can be imported.

    Attributes:
        title: the name of the program that writes it.
        is_log: tells whether a file's bytes have it.
        read: makes a recording of them.
    """

    title: str
    is_log: Callable[[bytes], bool]
    read: Callable[[bytes], Recording]


FORMATS: Mapping[str, Format] = {"dsh": Format("DeepSeek Harness", dsh.is_log, dsh.read)}
"""The forms that can be imported, by name."""

Source: TypeAlias = "str | PathLike[str] | bytes"


@dataclass(frozen=True)
class Imported:
    """A log that is to be kept here.

    Attributes:
        format: the name of its form.
        header: the header to keep it under.
        recording: what it holds, with its `events` and `violations`.
    """

    format: str
    header: Header
    recording: Recording

    @property
    def is_session(self) -> bool:
        """Tell whether it can be gone on with."""
        return not self.recording.violations

    def session(self, clock: Clock | None = None) -> Session:
        """Give a session in memory that goes on from it. Raises RuleViolation when it is a recording."""
        return reload(self.header, self.recording.events, clock=clock)


async def import_into(store: Store, source: Source, format: str | None = None) -> Imported:
    """Read a log of another program and keep it in a store, as a session or as a recording.

    Raises:
        SessionExists: the store has a session with its id.
        OSError, FormatUnsupported, SessionCorrupt: as `imported`.
    """
    found = imported(source, format)
    await store.add(found.header, found.recording.events)
    return found


def detect(source: Source) -> str | None:
    """Give the name of the form that a file, or its bytes, has; None when it is not one that is known."""
    data = _bytes(source)
    return next((name for name, form in FORMATS.items() if form.is_log(data)), None)


def imported(source: Source, format: str | None = None) -> Imported:
    """Read a log of another program, from a file or its bytes, in a given form or in the one that it has.

    Raises:
        OSError: the file cannot be read.
        FormatUnsupported: it has none of the known forms, or a version of one that is not read.
        SessionCorrupt: what counts of it is damaged.
    """
    data = _bytes(source)
    name = format or detect(data)
    if name is None or name not in FORMATS:
        raise FormatUnsupported("the file", name or "unknown", ", ".join(FORMATS))
    recording = FORMATS[name].read(data)
    return Imported(name, _header(recording), recording)


def _header(recording: Recording) -> Header:
    flag = {"recording": True} if recording.violations else {}
    return read_header(encode({**recording.header.value(), "origin": "import", **flag}))


def _bytes(source: Source) -> bytes:
    return source if isinstance(source, bytes) else Path(source).read_bytes()
