"""The header of a session: who it is and where it came from. Kept beside the log, and immutable."""

from __future__ import annotations

import time
from typing import NewType

from everlog.session.messages import new_id
from everlog.session.reading import reader
from everlog.session.views import View

SessionId = NewType("SessionId", str)

FORMAT = 1


class Header(View, frozen=True):
    """The identity of a session.

    Attributes:
        id: the session's identity.
        created_at: milliseconds since the epoch.
        format: the version of the stored form.
        cwd: the absolute folder that tools work in, when there is one.
        parent_session: the session that this one was forked from or delegated by.
        inherited_events: how many leading events came from the parent.
        origin: how it came to be, like `fork`, `import` or `subagent`.
        delegation_depth: how many agents stand above this one.
        recording: whether the log can only be looked at, as one that was imported with events that break a rule.
    """

    id: str
    created_at: int
    format: int = FORMAT
    cwd: str | None = None
    parent_session: str | None = None
    inherited_events: int | None = None
    origin: str | None = None
    delegation_depth: int | None = None
    recording: bool | None = None


def new_header(
    *,
    id: str | None = None,
    cwd: str | None = None,
    created_at: int | None = None,
    parent_session: str | None = None,
    inherited_events: int | None = None,
    origin: str | None = None,
    delegation_depth: int | None = None,
) -> Header:
    """Make the header of a new session; id and time are fresh ones unless given; `cwd` is absolute."""
    return Header(
        id=id or new_id(),
        created_at=now_ms() if created_at is None else created_at,
        cwd=cwd,
        parent_session=parent_session,
        inherited_events=inherited_events,
        origin=origin,
        delegation_depth=delegation_depth,
    )


def read_header(data: bytes) -> Header:
    """Read a header from its stored bytes, which stay its JSON.

    Raises:
        ValueError: the bytes are not a header.
    """
    return reader(Header).read(data)


def now_ms() -> int:
    """Give the wall clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
