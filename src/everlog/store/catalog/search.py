"""Search in titles and messages: an FTS5 index that is brought up to date when somebody searches."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable

from everlog.errors import EverlogError
from everlog.store.backend import Hit, Missed, Reader
from everlog.store.catalog.tables import SEQ_BITS
from everlog.store.errors import SessionNotFound, reason_of
from everlog.store.texts import said_in, snippet, words_of

_EVENTS_AT_A_TIME = 2_000
# Scripts that put no spaces between words are indexed by character, and found as phrases of them.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f])")


def find(
    connection: sqlite3.Connection, text: str, limit: int, reader: Callable[[str], Reader], missed: Missed
) -> list[Hit]:
    """Give where all words of a text stand, in sessions that were used last first; of others `missed` is told."""
    words = words_of(text)
    if not words:
        return []
    unread = catch_up(connection, reader)
    rows = connection.execute(
        "SELECT session.id, words.rowid & 4294967295, session.title FROM words"
        " JOIN session ON session.key = words.rowid >> 32"
        " WHERE words MATCH ? AND session.id IS NOT NULL AND session.trashed_at IS NULL"
        " ORDER BY session.used DESC, words.rowid LIMIT ?",
        (_query(words), min(limit, (1 << 63) - 1)),
    ).fetchall()
    hits: list[Hit] = []
    for id, seq, title in rows:
        try:
            hits.append(Hit(id, seq, title, _around(reader(id), seq, words)))
        except EverlogError as error:  # it was read when it was indexed
            unread[id] = error
    for id, why in unread.items():
        if not isinstance(why, SessionNotFound):  # it went away meanwhile
            missed(id, reason_of(why))
    return hits


def _query(words: list[str]) -> str:
    """Give the FTS5 query that takes every word as it is; the last one may go on."""
    phrases = ['"' + _spaced(word).replace('"', '""') + '"' for word in words]
    return " ".join(phrases) + ("" if _UNSPACED.search(words[-1]) else "*")


def _spaced(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _around(reader: Reader, seq: int, words: list[str]) -> str:
    return snippet(said_in(next(reader.pick([seq])).data), words)


def catch_up(connection: sqlite3.Connection, reader: Callable[[str], Reader]) -> dict[str, EverlogError]:
    """Index what was stored since the last time, a few thousand events to a transaction; give what was not read."""
    unread: dict[str, EverlogError] = {}
    behind = "SELECT key, id, max(searchable, inherited), next_seq FROM session WHERE searchable < next_seq"
    for key, id, start, stop in connection.execute(behind + " AND id IS NOT NULL").fetchall():
        try:
            while start < stop:
                upto = min(stop, start + _EVENTS_AT_A_TIME)
                _index(connection, key, start, upto, reader(id))
                start = upto
        except EverlogError as error:
            unread[id] = error
    return unread


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
