"""Derives the body of a request from the stored log, and compares it with what the log says was sent."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from everlog.errors import EverlogError
from everlog.kernel import Config, Kernel, discover
from everlog.llm.seam import BlobReader, Models
from everlog.session.payloads import RequestSent, RequestSide
from everlog.session.projections.request import AttemptRequest, SideRequest


class WireUnknown(EverlogError):
    """A body that cannot be derived: nothing was recorded about it, or no adapter here speaks its protocol."""


@dataclass(frozen=True)
class Wire:
    """One derived body.

    Attributes:
        body: the bytes.
        sent: what the log recorded of the body that went out.
        present_version: the version of the adapter that derived it here.
    """

    body: bytes
    sent: RequestSent | RequestSide
    present_version: str

    @property
    def sha256(self) -> str:
        """Give the digest of the derived body."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def matches(self) -> bool:
        """Tell whether the derived body is the one that was sent."""
        return self.sha256 == self.sent.sha256 and len(self.body) == self.sent.bytes

    @property
    def told(self) -> str:
        """Say whether it is, and else what may explain the difference."""
        sent = self.sent
        if self.matches:
            return f"it is what was sent: {sent.bytes:,} bytes, sha256 {sent.sha256}"
        versions = (
            f"recorded by {sent.adapter} {sent.adapter_version}, derived by {sent.adapter} {self.present_version}"
        )
        return f"it differs from what was sent: {sent.bytes:,} bytes then, {len(self.body):,} now; {versions}"


def derive(models: Models, found: AttemptRequest | SideRequest, blobs: BlobReader | None) -> Wire:
    """Derive the body of a request. Raises WireUnknown, and ModelFailure when a blob is missing."""
    request, sent = found.request, found.sent
    if request is None or sent is None:
        raise WireUnknown(f"event {found.seq}: the log does not say what was sent; whatever wrote it kept no digest")
    encoder = models.encoder(sent.adapter)
    if encoder is None:
        raise WireUnknown(f"no adapter {sent.adapter!r} is installed here; `everlog plugins` lists what is")
    return Wire(encoder.encode(request, blobs), sent, encoder.version)


async def derive_one(found: AttemptRequest | SideRequest, blobs: BlobReader | None) -> Wire:
    """Derive a body with the adapters that are installed; what the configuration says of endpoints does not matter."""
    plugins = discover(Config())
    async with Kernel(plugins.plugins, Config(), plugins.absent) as kernel:
        return derive(kernel[Models], found, blobs)
