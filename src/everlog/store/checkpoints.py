"""Checkpoints as they are kept beside a log: where they fit, and the state of the log there.

A checkpoint is one line of JSON, `{seq, chain, types}`, then the log's state as JSON, then the BLAKE2b of all
that. One that is damaged, or does not fit the log, is as good as none: nothing but time depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

_DIGEST_BYTES = 16


class Checkpoint(msgspec.Struct, frozen=True):
    """What was known of a log after the event `seq`.

    Attributes:
        seq: the last event that it covers.
        chain: the chain up to and with that event.
        types: the types of the events so far that are not ignorable.
        state: the log's own state, as JSON bytes.
    """

    seq: int
    chain: bytes
    types: frozenset[str]
    state: bytes


class _Line(msgspec.Struct):
    seq: int
    chain: str
    types: list[str]


_line = msgspec.json.Decoder(_Line)
_encode = msgspec.json.Encoder().encode


def pack(seq: int, chain: bytes, types: Iterable[str], state: bytes) -> bytes:
    """Give the bytes to keep."""
    body = _encode(_Line(seq, chain.hex(), sorted(types))) + b"\n" + state
    return body + blake2b(body, digest_size=_DIGEST_BYTES).digest()


def unpack(data: bytes) -> Checkpoint | None:
    """Read what was kept; None when it is damaged."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if blake2b(body, digest_size=_DIGEST_BYTES).digest() != digest:
        return None
    line, _, state = body.partition(b"\n")
    try:
        found = _line.decode(line)
        return Checkpoint(found.seq, bytes.fromhex(found.chain), frozenset(found.types), state)
    except (msgspec.MsgspecError, ValueError):
        return None
