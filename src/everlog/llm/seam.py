"""The definition of a model provider, and what others of this program use of models.

An adapter speaks one protocol. It has two halves: `encode` makes the body from the neutral request, purely, so
that any process can derive it again from the log; `stream` sends exactly that body and gives neutral chunks
(`everlog.session.records.Delta`, made by the functions of `everlog.llm.deltas`). A route is a model ready to
be asked. The service `Models` gives routes by name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from everlog.kernel import Serial
from everlog.llm.assembler import Assembler
from everlog.llm.catalogue import ModelFacts, Provider
from everlog.llm.failure import ModelFailure
from everlog.llm.models import Models, ProviderUnavailable, UnknownModel, key_variables
from everlog.llm.side import Aside, SideAnswer, SideRequests
from everlog.session.jsonvalue import JSONObject
from everlog.session.payloads import RequestHeader
from everlog.session.records import Delta
from everlog.session.request import Request
from everlog.session.views import json_raw

__all__ = [
    "RETRY",
    "Adapter",
    "Aside",
    "Assembler",
    "BlobReader",
    "Encoder",
    "FailedAttempt",
    "ModelFailure",
    "Models",
    "ProviderUnavailable",
    "Retry",
    "Route",
    "SideAnswer",
    "SideRequests",
    "UnknownModel",
    "WireProtocol",
    "key_variables",
]


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


@dataclass(frozen=True)
class Route:
    """A model ready to be asked.

    An agent keeps its route for as long as it uses the model: an adapter may hold a connection or a position.
    """

    adapter: Adapter
    provider: str
    """The first part of the name it was resolved by."""
    model: str
    """The rest of the name: the model as the provider knows it."""
    config: JSONObject
    """What goes into the request header's `config`: provider, model and every option that shapes the body."""
    context_window: int | None = None
    """The capacity in tokens, when it is known."""
    adapter_defaults: JSONObject | None = None
    """Which options of `config` the adapter filled in by itself, as `{option: true}`."""
    notice: str | None = None
    """One line that a face shows when the route is taken: a script answers, tools run live in a rerun."""

    @property
    def name(self) -> str:
        """Give `provider/model`."""
        return f"{self.provider}/{self.model}"

    def header(self, tools: Iterable[dict[str, Any]] = ()) -> RequestHeader:
        """Make the request header for this route with these tools, `{name, description, parameters}` each."""
        offered = list(tools)
        header: dict[str, Any] = {"config_json": json_raw(self.config)}
        if self.adapter_defaults:
            header["adapter_defaults_json"] = json_raw(self.adapter_defaults)
        if offered:
            header["tools_json"] = json_raw(offered)
        return RequestHeader(**header)


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


@dataclass(frozen=True)
class FailedAttempt:
    """A try of a step's request that gave no answer."""

    route: Route
    attempt: int
    """Which try it was, from 1."""
    failure: ModelFailure
    tried: tuple[str, ...]
    """The names of the routes that this step has asked, one for each try, this one among them."""


@dataclass(frozen=True)
class Retry:
    """Try the same request again."""

    delay_ms: float
    """How long to wait before it, in milliseconds."""
    route: Route | None = None
    """Where to; None for the same route."""


RETRY = Serial[[FailedAttempt], Retry]("llm.retry")
"""Is a failed attempt made again? The first policy that answers decides; without an answer the turn ends."""
