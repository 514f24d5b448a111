"""What can be wrong with a log of DeepSeek Harness, in words that fit a file that is not ours to repair."""

from __future__ import annotations

from everlog.session.errors import FormatUnsupported, SessionCorrupt


class LogDamaged(SessionCorrupt):
    """A log whose accepted part is damaged, or that holds a row which that program itself refuses.

    Attributes:
        seq: the seq of the first row that cannot be taken, or None when the header cannot.
    """

    def __init__(self, session: str, seq: int | None, reason: str) -> None:
        super().__init__(session, seq, reason)
        at = "its header" if seq is None else f"event {seq}"
        self.args = (f"DeepSeek Harness session {session}: {at} cannot be read: {reason}",)


class VersionUnsupported(FormatUnsupported):
    """A version of the format that is not read: 1, or one that is newer than this build."""

    def __init__(self, session: str, version: int) -> None:
        super().__init__(f"DeepSeek Harness session {session}", f"version {version}", "versions 0, 2, 3 and 4")


class UnknownEvent(FormatUnsupported):
    """An event type that is not one of that program's and that the log does not mark as one to skip.

    Attributes:
        type: the type.
        seq: where it stands first.
    """

    def __init__(self, session: str, type: str, seq: int) -> None:
        super().__init__(f"DeepSeek Harness session {session}", type, "the program's own event types")
        self.type = type
        self.seq = seq
        self.args = (
            f"DeepSeek Harness session {session} holds events of a newer version or of a plugin that is not"
            f" installed: {type} at seq {seq}, which may not be skipped",
        )


class NotWritable(FormatUnsupported):
    """A log that has no form in version 0, because it did not come from it or went on since."""

    def __init__(self, session: str, reason: str) -> None:
        super().__init__(f"session {session}", "of this program", "logs that came from version 0")
        self.args = (f"session {session} cannot be written as a version 0 log of DeepSeek Harness: {reason}",)
