"""What is wrong with stored records, in words. Reads no event, for which a list of sessions shall not wait."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from everlog.session.errors import SessionCorrupt
from everlog.store.backend import End
from everlog.store.chain import Record, Unread, is_sound

_SURROGATE = re.compile(rb"(?<!\\)(?:\\\\)*\\u([dD][89a-fA-F][0-9a-fA-F]{2})")


class Picks(Protocol):
    """What gives records by their seqs."""

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs."""
        ...


def demand_sound_end(id: str, records: Picks, end: End) -> None:
    """Raise SessionCorrupt when the last record before a torn end is damaged.

    Only one record is torn at a time. What were set aside else, at each opening one more, was promised.
    """
    if end.next_seq:
        last = next(iter(records.pick([end.next_seq - 1])))
        if not is_sound(*last):
            raise SessionCorrupt(id, end.next_seq - 1, damage_of(last))


def no_event(data: bytes, error: ValueError) -> str:
    """Say why the bytes of a sound record are no event; of a lone surrogate a parser says other things."""
    lone = _lone_surrogate(data)
    if lone is not None:
        return f"it holds a lone surrogate, the escape {lone}, which stands for no character"
    return f"its bytes are no event: {error}"


def _lone_surrogate(data: bytes) -> str | None:
    """Give the first escape of half a surrogate pair whose other half is not beside it."""
    high: re.Match[bytes] | None = None
    for found in _SURROGATE.finditer(data):
        is_low = found[1][1:2] in b"cdefCDEF"
        if is_low and high is not None and high.end() == found.start(1) - 2:
            high = None
        elif high is not None or is_low:
            return _escape(high or found)
        else:
            high = found
    return None if high is None else _escape(high)


def _escape(found: re.Match[bytes]) -> str:
    return "\\u" + found[1].decode()


def damage_of(record: Record) -> str:
    """Say what is wrong with a record that is not sound."""
    if isinstance(record, Unread):
        return record.reason
    if not record.data and not record.seal:
        return "it is missing"
    return "its checksum does not match its bytes" if record.seal else "it carries no checksum"
