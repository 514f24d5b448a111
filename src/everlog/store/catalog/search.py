"""Search in titles and messages: an FTS5 index that is brought up to date when somebody searches."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable

from everlog.store.backend import Hit, Reader
from everlog.store.catalog.tables import SEQ_BITS
from everlog.store.texts import said_in, snippet, words_of

_EVENTS_AT_A_TIME = 2_000
# Scripts that put no spaces between words are indexed by character, and found as phrases of them.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f])")


def find(connection: sqlite3.Connection, text: str, limit: int, reader: Callable[[str], Reader]) -> list[Hit]:
    """Give where all words of a text stand, in sessions that were used last first."""
    words = words_of(text)
    if not words:
        return []
    catch_up(connection, reader)
    rows = connection.execute(
        "SELECT session.id, words.rowid & 4294967295, session.title FROM words"
        " JOIN session ON session.key = words.rowid >> 32"
        " WHERE words MATCH ? AND session.id IS NOT NULL AND session.trashed_at IS NULL"
        " ORDER BY session.used DESC, words.rowid LIMIT ?",
        (_query(words), min(limit, (1 << 63) - 1)),
    ).fetchall()
    return [Hit(id, seq, title, _around(reader(id), seq, words)) for id, seq, title in rows]


def _query(words: list[str]) -> str:
    """Give the FTS5 query that takes every word as it is; the last one may go on."""
    phrases = ['"' + _spaced(word).replace('"', '""') + '"' for word in words]
    return " ".join(phrases) + ("" if _UNSPACED.search(words[-1]) else "*")


def _spaced(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _around(reader: Reader, seq: int, words: list[str]) -> str:
    return snippet(said_in(next(reader.pick([seq])).data), words)


def catch_up(connection: sqlite3.Connection, reader: Callable[[str], Reader]) -> None:
    """Index what was stored since the last time, a few thousand events to a transaction."""
    behind = "SELECT key, id, max(searchable, inherited), next_seq FROM session WHERE searchable < next_seq"
    for key, id, start, stop in connection.execute(behind + " AND id IS NOT NULL").fetchall():
        while start < stop:
            upto = min(stop, start + _EVENTS_AT_A_TIME)
            _index(connection, key, start, upto, reader(id))
            start = upto


def _index(connection: sqlite3.Connection, key: int, start: int, stop: int, reader: Reader) -> None:
    said = [(seq, said_in(record.data)) for seq, record in enumerate(reader.read(start, stop), start)]
    connection.execute("BEGIN IMMEDIATE")
    try:
        moved = connection.execute(
            "UPDATE session SET searchable = ? WHERE key = ? AND max(searchable, inherited) = ?", (stop, key, start)
        )
        if moved.rowcount == 1:  # another process may have been faster
            rows = (((key << SEQ_BITS) + seq, _spaced(text)) for seq, text in said if text)
            connection.executemany("INSERT INTO words (rowid, said) VALUES (?, ?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
