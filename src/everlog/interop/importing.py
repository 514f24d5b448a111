"""Taking in a log that another program kept: it becomes a session when it breaks no rule, else a recording.

What is imported keeps its id; where the other log is made of the same events, their seqs too. Its header says
`origin: "import"`, and `recording: true` when it can only be looked at; a store opens such a one for reading only.
A log of a form that holds less than ours, or in another order, is always a recording.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from everlog.errors import EverlogError
from everlog.interop import claude_code, codex, dsh, openhands
from everlog.interop.chronicle import ForeignRecording
from everlog.interop.documents import Document, Source
from everlog.session import CORE, FormatUnsupported, Header, Recording, Session, Vocabulary, read_header
from everlog.session.jsonvalue import encode
from everlog.session.live import Clock
from everlog.session.reloading import reload
from everlog.store.seam import SessionExists, SessionNotFound, Store


@dataclass(frozen=True)
class Format:
    """A form of log that can be imported.

    Attributes:
        title: the name of the program that writes it.
        is_log: tells by the first bytes of a file whether it has this form.
        read: makes a recording of a file, of its bytes, or of a folder; by a vocabulary.
        goes_on: whether a log that breaks no rule is a session that can be gone on with.
    """

    title: str
    is_log: Callable[[bytes], bool]
    read: Callable[[Source, Vocabulary], Recording]
    goes_on: bool = False


def _by_the_core(read: Callable[[Source], Recording]) -> Callable[[Source, Vocabulary], Recording]:
    """Make of a reader that translates into events of the core alone one that takes any vocabulary."""
    return lambda source, vocabulary: read(source)


FORMATS: Mapping[str, Format] = {
    "dsh": Format("DeepSeek Harness", dsh.is_log, dsh.read, goes_on=True),
    "claude-code": Format("Claude Code", claude_code.is_log, _by_the_core(claude_code.read)),
    "codex": Format("Codex", codex.is_log, _by_the_core(codex.read)),
    "openhands": Format("OpenHands", openhands.is_log, _by_the_core(openhands.read)),
}
"""The forms that can be imported, by name."""


class NotAFile(EverlogError):
    """What is to be imported is a pipe or a device: a log is read more than once."""

    def __init__(self, source: Source) -> None:
        super().__init__(f"{_named(source)} is neither a file nor a folder: write what comes from it into a file first")


class FormUnknown(FormatUnsupported):
    """What is to be imported has none of the forms that are known, or is said to have `format`, which is none."""

    def __init__(self, source: Source, format: str | None = None) -> None:
        forms = ", ".join(f"{form.title} ({name})" for name, form in FORMATS.items())
        what = f"{_named(source)} has none" if format is None else f"{format} is none"
        EverlogError.__init__(self, f"{what} of the forms that are read here: {forms}")
        self.found = "unknown"


class FormMistaken(FormatUnsupported):
    """What is to be imported holds no record of the form that it was said to have.

    Attributes:
        looks_like: the name of the form that it has by its content, or None.
    """

    def __init__(self, source: Source, format: str) -> None:
        self.looks_like = detect(source)
        seems = FORMATS.get(self.looks_like or "")
        hint = f"it looks like {seems.title} (--from {self.looks_like})" if seems else "it looks like no form read here"
        EverlogError.__init__(
            self, f"nothing in {_named(source)} is a record of {FORMATS[format].title} ({format}); {hint}"
        )
        self.found = self.looks_like or "unknown"


class AlreadyImported(SessionExists):
    """The store has what is to be imported, or another session with its id, already.

    Attributes:
        trashed: whether it lies in the trash.
    """

    def __init__(self, source: Source, session: str, trashed: bool) -> None:
        super().__init__(session)
        hint = f"bring it back with `everlog delete {session} --undo`" if trashed else f"see `everlog show {session}`"
        where = " and is in the trash" if trashed else ""
        self.args = (f"{_named(source)} was imported already{where}, as session {session}: {hint}",)
        self.trashed = trashed


def _named(source: Source) -> str:
    return "the log" if isinstance(source, bytes) else str(source)


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
        return FORMATS[self.format].goes_on and not self.recording.violations

    @property
    def kept(self) -> Mapping[str, int]:
        """Give how many records have no place in a conversation and were kept as they are, by name."""
        return self.recording.kept if isinstance(self.recording, ForeignRecording) else {}

    @property
    def unknown(self) -> Mapping[str, int]:
        """Give how many of those are of kinds that this build does not know, by name."""
        return self.recording.unknown if isinstance(self.recording, ForeignRecording) else {}

    @property
    def remarks(self) -> Mapping[str, int]:
        """Give what was found wrong with the log, in words, and how often."""
        return self.recording.remarks if isinstance(self.recording, ForeignRecording) else {}

    def session(self, clock: Clock | None = None) -> Session:
        """Give a session in memory that goes on from it, with the vocabulary that it was read by.

        Raises RuleViolation when its log breaks a rule.
        """
        return reload(self.header, self.recording.events, self.recording.vocabulary, clock)


async def import_into(store: Store, source: Source, format: str | None = None) -> Imported:
    """Read a log of another program and keep it in a store, as a session or as a recording.

    Raises:
        AlreadyImported: the store, or its trash, has a session with its id.
        OSError, FormatUnsupported, SessionCorrupt: as `imported`.
    """
    found = imported(source, format, store.vocabulary)
    if isinstance(found.recording, ForeignRecording):
        for data in found.recording.blobs.values():
            store.blobs.put(data)
    try:
        await store.add(found.header, found.recording.events)
    except SessionExists as error:
        raise AlreadyImported(source, error.session, await _is_trashed(store, error.session)) from None
    return found


async def _is_trashed(store: Store, id: str) -> bool:
    try:
        store.backend.demand(id)
    except SessionNotFound:
        return True
    return False


def _demand_file(source: Source) -> None:
    """Raise NotAFile for what cannot be read twice, and may be waited for without an end. Raises OSError."""
    if not isinstance(source, bytes):
        kind = os.stat(source).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise NotAFile(source)


def detect(source: Source) -> str | None:
    """Give the name of the form that a file, or its bytes, has; None when it is not one that is known."""
    _demand_file(source)
    document = Document(source)
    head = document.head()
    if dsh.is_compressed(head):
        head = document.data()
    return next((name for name, form in FORMATS.items() if form.is_log(head)), None)


def imported(source: Source, format: str | None = None, vocabulary: Vocabulary = CORE) -> Imported:
    """Read a log of another program, from a file or its bytes, in a given form or in the one that it has.

    `vocabulary` is what its events are typed and judged by: the core's, unless plugins brought more.

    Raises:
        OSError: the file cannot be read.
        NotAFile: it is a pipe or a device.
        FormatUnsupported: it has none of the known forms, no record of the given one, or a version that is not read.
        SessionCorrupt: what counts of it is damaged.
    """
    _demand_file(source)
    name = format or detect(source)
    if name is None or name not in FORMATS:
        raise FormUnknown(source, format)
    recording = FORMATS[name].read(source, vocabulary)
    if format is not None and isinstance(recording, ForeignRecording) and not recording.recognised:
        raise FormMistaken(source, format)
    return Imported(name, _header(recording, FORMATS[name].goes_on), recording)


def _header(recording: Recording, goes_on: bool) -> Header:
    flag = {} if goes_on and not recording.violations else {"recording": True}
    return read_header(encode({**recording.header.value(), "origin": "import", **flag}))
