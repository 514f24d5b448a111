"""What can go wrong between a session and its store. Each error carries its facts and says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from everlog.errors import EverlogError
from everlog.session.errors import FormatUnsupported


class StoreError(EverlogError):
    """The store itself cannot do what was asked: a bad URL, a missing folder, a missing package."""


class StoreUnusable(StoreError):
    """What stands where a store should be cannot be opened, or may not be.

    Attributes:
        path: the file or folder.
        cause: the error underneath.
    """

    def __init__(self, path: Path, cause: Exception, what: str = "") -> None:
        said = what or _said_of_system(cause)
        super().__init__(f"the store {path} cannot be opened: {said}; name another store, or mend what stands there")
        self.path = path
        self.cause = cause


class StoreDamaged(StoreError):
    """A database of which SQLite cannot read a part. What stands in the others can still be read.

    Attributes:
        path: the file.
        cause: the error underneath.
    """

    def __init__(self, path: Path, cause: Exception) -> None:
        super().__init__(
            f"the database {path} is damaged: {cause}; put a backup of it in its place, or copy the sessions that can"
            " still be read, with `everlog store copy FROM TO`, one by one with --session where they cannot be listed"
        )
        self.path = path
        self.cause = cause
        self.reason = f"the database is damaged: {cause}"


class UrlInvalid(StoreError):
    """What was given as the URL of a store is none that can be opened by."""


class HeadInvalid(StoreError):
    """What was given as the head of a log is none that was ever printed."""

    def __init__(self, given: str) -> None:
        super().__init__(f"{given!r} is not a head; `everlog verify` prints it as COUNT:CHAIN")
        self.given = given


class SessionNotFound(EverlogError):
    """No session has this id.

    Attributes:
        session: the id that was asked for.
        trashed: whether the session lies in the trash, from where it can be restored.
    """

    def __init__(self, session: str, trashed: bool = False) -> None:
        if trashed:
            said = f"session {session} is in the trash; bring it back with `everlog delete {session} --undo`"
        else:
            said = f"no session {session}; `everlog sessions` lists those there are"
        super().__init__(said)
        self.session = session
        self.trashed = trashed


class SessionUnreadable(StoreError):
    """A session that the system does not let be read: permission denied, an I/O error. No other is concerned.

    Attributes:
        session: its id.
        reason: what the system said, and of which file.
        cause: the error underneath.
    """

    def __init__(self, session: str, cause: Exception) -> None:
        reason = _said_of_system(cause)
        super().__init__(f"session {session} cannot be read: {reason}; mend that, or take the session from a backup")
        self.session = session
        self.reason = reason
        self.cause = cause


class CursorInvalid(EverlogError, ValueError):
    """What was given as the place in a list to go on from is no cursor of a session."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"{cursor!r} is no place in a list: give the cursor of the last session that was listed")
        self.cursor = cursor


class SessionExists(EverlogError):
    """A session with this id is in the store, or in its trash, already."""

    def __init__(self, session: str) -> None:
        super().__init__(f"a session {session} exists already in this store; ids are unique")
        self.session = session


class RecordingOnly(EverlogError):
    """A session that was imported and holds less than ours, or breaks a rule: it is never appended to."""

    def __init__(self, session: str) -> None:
        super().__init__(
            f"session {session} is a recording: it can be looked at, and not gone on with;"
            f" `everlog continue {session}` starts a session from what its model saw"
        )
        self.session = session


class SessionBusy(EverlogError):
    """Another writer holds the session.

    Attributes:
        session: the id of the session.
        holder: who holds it, like `pid 4711 on myhost since 12:30:05`.
    """

    def __init__(self, session: str, holder: str) -> None:
        super().__init__(f"session {session} is busy, held by {holder}; end that one first, or fork the session")
        self.session = session
        self.holder = holder


class LeaseLost(EverlogError):
    """This writer held the session once and another took it over; nothing more can be written from here."""

    def __init__(self, session: str, reason: str) -> None:
        super().__init__(f"session {session}: the right to write it was lost: {reason}; open it again to go on")
        self.session = session
        self.reason = reason


class WriteFailed(EverlogError):
    """A write did not reach the store. Its events are kept and tried again until they do.

    Attributes:
        session: the id of the session.
        pending: how many of its events wait.
        cause: the error underneath.
    """

    def __init__(self, session: str, pending: int, cause: BaseException) -> None:
        super().__init__(f"session {session}: {pending} events wait to be stored: {_said(cause)}; will be tried again")
        self.session = session
        self.pending = pending
        self.cause = cause


class BatchRefused(EverlogError):
    """A batch that does not follow what is stored; nothing of it was written.

    Attributes:
        first_seq: the seq of its first event.
        next_seq: the seq that the store expects.
    """

    def __init__(self, session: str, first_seq: int, next_seq: int, reason: str = "") -> None:
        why = reason or f"it begins at seq {first_seq}, the stored log goes on at {next_seq}"
        super().__init__(f"session {session}: a batch was refused: {why}")
        self.session = session
        self.first_seq = first_seq
        self.next_seq = next_seq


class UnknownEvents(FormatUnsupported):
    """A session that holds events of types that this build does not know, and that may not be skipped.

    Attributes:
        types: their names.
    """

    def __init__(self, session: str, types: Sequence[str]) -> None:
        names = ", ".join(types)
        EverlogError.__init__(
            self,
            f"session {session} holds events of a newer version or of a plugin that is not installed: {names};"
            " it can be shown, verified and exported, but not gone on with",
        )
        self.found = names
        self.types = tuple(types)


class BlobMissing(EverlogError, KeyError):
    """No blob has this hash.

    Attributes:
        hash: the content hash that was asked for.
    """

    def __init__(self, hash: str) -> None:
        super().__init__(f"no blob {hash} in this store; `everlog store check` tells what is missing")
        self.hash = hash

    __str__ = Exception.__str__


class BlobUnreadable(StoreError):
    """A blob that the system does not let be read.

    Attributes:
        hash: the content hash that was asked for.
    """

    def __init__(self, hash: str, cause: Exception) -> None:
        super().__init__(f"blob {hash} cannot be read: {_said_of_system(cause)}; mend that, or take it from a backup")
        self.hash = hash
        self.reason = _said_of_system(cause)


def reason_of(error: Exception) -> str:
    """Give why, where the session or the blob is named beside it anyway: the `reason` of an error that has one."""
    return getattr(error, "reason", None) or str(error)


def _said_of_system(cause: Exception) -> str:
    """Give what the system said of a file, without its number."""
    if isinstance(cause, OSError) and cause.strerror:
        return f"{cause.filename}: {cause.strerror}" if cause.filename else cause.strerror
    return _said(cause)


def _said(cause: BaseException) -> str:
    return str(cause) or type(cause).__name__
