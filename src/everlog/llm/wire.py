"""Derives again, from a log and its blobs alone, the bodies that were sent, and compares them with what it says.

This is what `request --wire` and `verify` stand on. It needs no key, no network and no configuration: encoders
are pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from everlog.llm.failure import ModelFailure
from everlog.llm.seam import BlobReader, Encoder
from everlog.session.log import Log
from everlog.session.payloads import RequestSent, RequestSide
from everlog.session.projections.request import AttemptRequest, Requests, SideRequest
from everlog.session.request import Request

EncoderOf: TypeAlias = Callable[[str], Encoder | None]
"""Gives an encoder by the name that the log records; `Models.encoder` is one."""

Sent: TypeAlias = RequestSent | RequestSide


@dataclass(frozen=True)
class WireCheck:
    """A body derived again, beside what the log says of the one that was sent.

    Attributes:
        request: which request: `turn.step.attempt`, or `side ID`.
        seq: the seq of its `request/sent` or `request/side`.
        sent: what that says: adapter, version, digest and length.
        body: what this process derives; None when it cannot.
        version: the version of the adapter in this process; None when it has none of that name.
        problem: why there is no body; None when there is one.
    """

    request: str
    seq: int
    sent: Sent
    body: bytes | None
    version: str | None
    problem: str | None = None

    @property
    def sha256(self) -> str | None:
        """Give the digest of the derived body in hexadecimal digits."""
        return None if self.body is None else hashlib.sha256(self.body).hexdigest()

    @property
    def matches(self) -> bool:
        """Tell whether the derived body is the one that was sent, byte for byte."""
        return self.body is not None and (self.sha256, len(self.body)) == (self.sent.sha256, self.sent.bytes)

    @property
    def difference(self) -> str | None:
        """Give one line that says what differs, with the recorded and the present adapter version; None if nothing."""
        if self.matches:
            return None
        recorded = f"{self.sent.adapter} {self.sent.adapter_version}"
        if self.body is None:
            return f"request {self.request}: sent by {recorded}: {self.problem}"
        present = "the same version" if self.version == self.sent.adapter_version else f"version {self.version}"
        return (
            f"request {self.request}: the body sent by {recorded} had {self.sent.bytes} bytes and digest "
            f"{self.sent.sha256[:12]}…; {present} makes {len(self.body)} bytes with digest {(self.sha256 or '')[:12]}…"
        )


def wire_of_attempt(
    log: Log, turn: int, step: int, attempt: int, encoder_of: EncoderOf, blobs: BlobReader | None = None
) -> WireCheck:
    """Derive the body of one attempt.

    Raises:
        KeyError: the log has no such attempt, or does not say what was sent (an imported one).
    """
    found = _requests(log)[turn, step, attempt]
    if found.sent is None:
        raise KeyError((turn, step, attempt))
    return _check_attempt(found, found.sent, encoder_of, blobs)


def wire_of_side(log: Log, id: str, encoder_of: EncoderOf, blobs: BlobReader | None = None) -> WireCheck:
    """Derive the body of a side request. Raises KeyError when there is none of that id."""
    return _check_side(_requests(log).sides[id], encoder_of, blobs)


def check_wire(log: Log, encoder_of: EncoderOf, blobs: BlobReader | None = None) -> Iterator[WireCheck]:
    """Derive the body of every attempt whose log says what was sent, then of every side request."""
    requests = _requests(log)
    for found in requests.values():
        if found.sent is not None:
            yield _check_attempt(found, found.sent, encoder_of, blobs)
    for side in requests.sides.values():
        yield _check_side(side, encoder_of, blobs)


def _requests(log: Log) -> Requests:
    return cast(Requests, log.project("request"))


def _check_attempt(
    found: AttemptRequest, sent: RequestSent, encoder_of: EncoderOf, blobs: BlobReader | None
) -> WireCheck:
    name = ".".join(map(str, found.key))
    return _check(name, found.seq, sent, found.request, encoder_of(sent.adapter), blobs)


def _check_side(side: SideRequest, encoder_of: EncoderOf, blobs: BlobReader | None) -> WireCheck:
    return _check(f"side {side.id}", side.seq, side.sent, side.request, encoder_of(side.sent.adapter), blobs)


def _check(
    name: str, seq: int, sent: Sent, request: Request | None, encoder: Encoder | None, blobs: BlobReader | None
) -> WireCheck:
    if encoder is None:
        problem = f"no plugin here brings an adapter {sent.adapter!r}"
        return WireCheck(name, seq, sent, None, None, problem)
    if request is None:
        return WireCheck(name, seq, sent, None, encoder.version, "no request/header was in force")
    try:
        return WireCheck(name, seq, sent, encoder.encode(request, blobs), encoder.version)
    except ModelFailure as failure:
        return WireCheck(name, seq, sent, None, encoder.version, failure.message)
