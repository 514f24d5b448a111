"""What can go wrong with a log. Each error carries its facts and prints as one line that says what to do."""

from __future__ import annotations

from everlog.errors import EverlogError


class AppendRefused(EverlogError):
    """An event that the log does not take; nothing was changed.

    Attributes:
        type: the type of the event.
        path: where in the data the fault stands, or None.
    """

    def __init__(self, type: str, reason: str, path: str | None = None) -> None:
        at = "" if not path else f" at {path if len(path) < 100 else path[:60] + '…' + path[-30:]}"
        super().__init__(f"{type}{at}: {reason}")
        self.type = type
        self.path = path


class RuleViolation(AppendRefused):
    """An event that breaks a rule of the log.

    Attributes:
        seq: the seq that the event has, or would have had.
        rule: the name of the rule, `room.rule`.
        expected: what the rule expects, in words.
    """

    def __init__(self, seq: int, type: str, rule: str, expected: str) -> None:
        super().__init__(type, f"seq {seq} breaks {rule}: {expected}")
        self.seq = seq
        self.rule = rule
        self.expected = expected


class SessionCorrupt(EverlogError):
    """A log whose stored bytes are damaged.

    Attributes:
        seq: the seq of the first event that cannot be read, or None when the header cannot.
    """

    def __init__(self, session: str, seq: int | None, reason: str) -> None:
        at = "its header" if seq is None else f"event {seq}"
        super().__init__(f"session {session}: {at} is damaged: {reason}; try `everlog repair {session} --salvage`")
        self.session = session
        self.seq = seq
        self.reason = reason


class FormatUnsupported(EverlogError):
    """A log of a format that this build does not read.

    Attributes:
        found: the format found, as text.
    """

    def __init__(self, what: str, found: str, supported: str) -> None:
        super().__init__(f"{what}: format {found} is not supported; this build reads {supported}")
        self.found = found


class ForkRefused(EverlogError):
    """A fork inside an open turn, or at a seq that the log does not have.

    Attributes:
        code: `OPEN_TURN`, or `INVALID_BOUNDARY` for a seq that the log does not have.
        before: the nearest legal boundary before the seq asked for, or None.
        after: the nearest legal boundary after it, or None.
    """

    def __init__(self, at: int, reason: str, before: int | None, after: int | None, code: str = "OPEN_TURN") -> None:
        near = " and ".join(str(seq) for seq in (before, after) if seq is not None) or "none"
        close = ' (or close the open turn: --close-open-turn, in a program open_turn="close")'
        hint = close if code == "OPEN_TURN" else ""
        super().__init__(f"cannot fork at {at}: {reason}; nearest legal boundaries: {near}{hint}")
        self.at = at
        self.code = code
        self.before = before
        self.after = after
