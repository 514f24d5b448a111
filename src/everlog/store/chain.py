"""Seals: the checksum and the chain that cover every stored event, the same in each store.

A seal is 24 bytes: the CRC-32 of the event's JSON bytes, big-endian, and then the chain, which is BLAKE2b
with a digest of 20 bytes over the chain of the event before followed by the event's JSON bytes. The first
event follows 20 zero bytes: the chain does not begin with the session's id, so that forks share it. The
checksum tells whether one event is sound by itself; the chain, whether it stands where it was put.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple, Self
from zlib import crc32

CHAIN_BYTES = 20
SEAL_BYTES = 4 + CHAIN_BYTES
_seal = Struct(f">I{CHAIN_BYTES}s").pack
START = bytes(CHAIN_BYTES)
"""The chain before the first event."""


class Record(NamedTuple):
    """One stored event: its JSON bytes and its seal."""

    data: bytes
    seal: bytes

    @property
    def chain(self) -> bytes:
        """Give the chain up to and with this event."""
        return self.seal[4:]


class Unread(Record):
    """A record that is there and cannot be had: it has no bytes and no seal, but tells why.

    Attributes:
        reason: why, for people.
    """

    reason: str

    @classmethod
    def because(cls, reason: str) -> Self:
        """Say why a record cannot be had."""
        record = cls(b"", b"")
        record.reason = reason
        return record


class Batch(NamedTuple):
    """Consecutive events on their way into a store.

    Attributes:
        session: the id of the session that they belong to.
        first_seq: the seq of the first.
        before: the chain that they follow.
        data: the JSON bytes of each.
        seals: the seal of each.
        title: the last title that they set, or None.
        preview: the beginning of the first user message among them, or None.
    """

    session: str
    first_seq: int
    before: bytes
    data: list[bytes]
    seals: list[bytes]
    title: str | None = None
    preview: str | None = None

    @property
    def next_seq(self) -> int:
        """Give the seq that follows the batch."""
        return self.first_seq + len(self.data)

    @property
    def head(self) -> bytes:
        """Give the chain after the batch."""
        return self.seals[-1][4:] if self.seals else self.before


_fresh = blake2b(digest_size=CHAIN_BYTES).copy  # half the price of a new one for each event


def link(before: bytes, data: bytes) -> bytes:
    """Give the chain of an event that follows `before`."""
    state = _fresh()
    state.update(before + data)
    return state.digest()


def seal(before: bytes, events: Sequence[bytes]) -> list[bytes]:
    """Give the seals of consecutive events that follow the chain `before`."""
    chains: list[bytes] = []
    for data in events:
        state = _fresh()
        state.update(before + data)
        before = state.digest()
        chains.append(before)
    return list(map(_seal, map(crc32, events), chains))


def is_sound(data: bytes, seal: bytes) -> bool:
    """Tell whether an event's bytes are those that were sealed."""
    return len(seal) == SEAL_BYTES and crc32(data) == int.from_bytes(seal[:4], "big")
