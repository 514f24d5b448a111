"""Where sessions stand in a list, whatever is used now, and whatever is a copy of one that was used long ago."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from everlog.store.catalog.placing import place

KEYS = range(6)
COPIES = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 8)), max_size=40)


@given(COPIES)
def test_a_copy_stands_next_above_those_that_were_not_used_later(copies: list[tuple[int, int]]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE session (key INTEGER PRIMARY KEY, used INTEGER NOT NULL, used_at INTEGER)")
        connection.execute("CREATE UNIQUE INDEX session_used ON session (used)")
        connection.executemany("INSERT INTO session VALUES (?, ?, 4)", ((key, key + 1) for key in KEYS))
        expected = [(key, 4) for key in KEYS]
        for key, used_at in copies:
            place(connection, key, used_at)
            expected = [other for other in expected if other[0] != key]
            below = sum(1 for _, at in expected if at <= used_at)
            expected.insert(below, (key, used_at))
            assert connection.execute("SELECT key, used_at FROM session ORDER BY used").fetchall() == expected
