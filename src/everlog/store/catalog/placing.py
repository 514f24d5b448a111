"""The place of a session in a list: `used` counts up with each use, so that those of one millisecond have an order."""

from __future__ import annotations

import sqlite3

_ROOM = 1 << 20
"""So many places are left free where one is made, as copies mostly come many at a time, each used after the last."""


def place(connection: sqlite3.Connection, key: int, used_at: int) -> None:
    """Note when a session was last used, and put it above all that were not used later, next to the uppermost of them.

    Those above keep their order. Within a transaction of the caller's.
    """
    (below,) = connection.execute(
        "SELECT coalesce((SELECT used FROM session WHERE used_at <= ? AND key <> ? ORDER BY used DESC LIMIT 1), 0)",
        (used_at, key),
    ).fetchone()
    if connection.execute("SELECT 1 FROM session WHERE used = ? AND key <> ?", (below + 1, key)).fetchone():
        # No two may have one number at any moment: by way of negative ones, which nothing else has.
        connection.execute("UPDATE session SET used = -used - ? WHERE used > ?", (_ROOM, below))
        connection.execute("UPDATE session SET used = -used WHERE used < 0")
    connection.execute("UPDATE session SET used = ?, used_at = ? WHERE key = ?", (below + 1, used_at, key))
