"""What a protocol's module brings: the two halves of an adapter, and how endpoints of the catalogue get one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from everlog.llm.catalogue import ModelFacts, Provider
from everlog.session.jsonvalue import JSONObject
from everlog.session.records import Delta
from everlog.session.request import Request


class BlobReader(Protocol):
    """Gives the content of blobs."""

    def get(self, blob: str) -> bytes:
        """Give the bytes of the blob with this content hash. Raises LookupError when there is none."""


class Encoder(Protocol):
    """The pure half of an adapter."""

    @property
    def name(self) -> str:
        """The name of the protocol; `request/sent` records it."""

    @property
    def version(self) -> str:
        """Changes whenever the bytes for some request would; includes the version of the SDK underneath."""

    def encode(self, request: Request, blobs: BlobReader | None) -> bytes:
        """Give the body for a request.

        Guarantees: a pure function of the request, the blobs and the version; it reads neither clock, environment
        nor configuration. An adapter without HTTP gives the request's canonical JSON.

        Raises:
            ModelFailure: `BAD_REQUEST`; the request holds what this protocol cannot say.
        """


class Adapter(Encoder, Protocol):
    """One protocol, ready to be spoken with one endpoint."""

    async def aclose(self) -> None:
        """Close the connections that are kept. It may be used again afterwards."""

    def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Send `body`, which `encode` gave for `request`, as it is, and give the answer as it comes.

        Guarantees: no retry of its own; cancelling the iteration, or closing the iterator, closes the connection;
        a stream that ends without raising has given a `finish`.

        Raises:
            ModelFailure: at any point; what came before it stays given.
        """


def _no_defaults(config: JSONObject, facts: ModelFacts) -> JSONObject:
    return {}


@dataclass(frozen=True)
class WireProtocol:
    """A protocol that endpoints of the catalogue can name: what a plugin hands to `Models.add_protocol`."""

    encoder: Encoder
    """Its name is what `protocol = "…"` names."""
    connect: Callable[[str, Provider, str | None, Mapping[str, str]], Adapter]
    """Makes the adapter for an endpoint: of the provider's name, its table, its key and its headers."""
    defaults: Callable[[JSONObject, ModelFacts], JSONObject] = _no_defaults
    """Gives the options that this protocol needs and the configuration leaves open, by their neutral names."""
