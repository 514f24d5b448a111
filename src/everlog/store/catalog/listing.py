"""What lists show of sessions, from an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Literal
from zlib import crc32

from everlog.session.header import read_header
from everlog.store.backend import Summary
from everlog.store.errors import CursorInvalid

# A bad disk or a hand may have left other types, and texts that are none: one such row hides no other session.
_ROWS = """
SELECT id, CAST(header AS BLOB), header_sum, next_seq, used, CAST(used_at AS INTEGER),
    CAST(title AS BLOB), CAST(preview AS BLOB), CAST(trashed_at AS INTEGER) FROM session
"""
_PAGE = f"{_ROWS} WHERE id IS NOT NULL AND (trashed_at IS NOT NULL) = ? AND used < ? ORDER BY used DESC LIMIT ?"
_NO_END = (1 << 63) - 1


def page(
    connection: sqlite3.Connection, limit: int, after: str | None, trashed: bool, holder: Callable[[str], str | None]
) -> list[Summary]:
    """Give a page; `holder` tells who holds a session."""
    rows = connection.execute(_PAGE, (trashed, before(after), min(limit, _NO_END))).fetchall()
    return [_summary(row, holder(row[0])) for row in rows]


def one(
    connection: sqlite3.Connection, column: Literal["id", "name"], value: str, holder: Callable[[str], str | None]
) -> Summary | None:
    """Give what a page shows of the one session whose `column` has this value; None when there is none."""
    row = connection.execute(f"{_ROWS} WHERE {column} = ?", (value,)).fetchone()
    return None if row is None else _summary(row, holder(row[0]))


def before(cursor: str | None) -> int:
    """Give the place that a page stands before, of a cursor or of none. Raises CursorInvalid."""
    if not cursor:
        return _NO_END
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 19):
        raise CursorInvalid(cursor)
    return int(cursor)


def _summary(row: sqlite3.Row, holder: str | None) -> Summary:
    id, own, checksum, events, used, used_at, *texts, trashed_at = row
    title, preview = (None if text is None else text.decode("utf-8", "replace") for text in texts)
    events = events if isinstance(events, int) else 0
    try:
        if crc32(own) != checksum:
            raise ValueError("its checksum does not match its bytes")
        header = read_header(own)
    except (TypeError, ValueError) as error:
        damage = f"its header is damaged: {error}"
        return Summary(id, 0, used_at, events, title, trashed_at=trashed_at, damage=damage, cursor=str(used))
    return Summary(
        id=id,
        created_at=header.created_at,
        updated_at=used_at,
        events=events,
        title=title,
        preview=preview,
        cwd=header.cwd,
        parent_session=header.parent_session,
        origin=header.origin,
        delegation_depth=header.delegation_depth,
        recording=bool(header.recording),
        holder=holder,
        trashed_at=trashed_at,
        cursor=str(used),
    )
