"""Responses: OpenAI's own protocol, in which reasoning goes back to the model that wrote it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import cached_property
from importlib.metadata import version

from everlog.kernel import Context, plugin
from everlog.llm.catalogue import Provider
from everlog.llm.connection import Connection
from everlog.llm.httpfailure import from_stream_error
from everlog.llm.openai.connection import connection_to
from everlog.llm.openai.responsesbody import NAME, responses_body
from everlog.llm.openai.responsesreader import ResponsesReader, StreamRefused
from everlog.llm.seam import BlobReader, Models, WireProtocol
from everlog.session.records import Delta
from everlog.session.request import Request

BYTES_VERSION = 1
"""Goes up with every change of `responses_body` that changes a byte of some request's body."""


class ResponsesEncoder:
    """Makes the bodies."""

    name = NAME

    @cached_property
    def version(self) -> str:
        """Give the version of the bytes and of the SDK that sends them."""
        return f"{BYTES_VERSION}+openai-{version('openai')}"

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        """Give the body; see `everlog.llm.openai.responsesbody`."""
        return responses_body(request, blobs)


class ResponsesAdapter(ResponsesEncoder):
    """Speaks with one endpoint."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._connection.aclose()

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Send the body and give the answer as it comes. Raises ModelFailure."""
        reader = ResponsesReader()
        async with aclosing(self._connection.events("/responses", request.model, body)) as events:
            async for event in events:
                try:
                    for delta in reader.read(event):
                        yield delta
                except StreamRefused as refused:
                    error, endpoint = refused.error, self._connection.endpoint
                    raise from_stream_error(endpoint, request.model, error, str(error)) from None
        for delta in reader.end():
            yield delta


def connect(provider: str, known: Provider, key: str | None, headers: Mapping[str, str]) -> ResponsesAdapter:
    """Make the adapter for an endpoint of the catalogue; nothing is sent before the first request."""
    return ResponsesAdapter(connection_to(provider, known, key, headers))


@plugin(name="openai-responses", requires=(Models,))
async def openai_responses(ctx: Context) -> AsyncIterator[None]:
    """Speaks the responses protocol with OpenAI and with every endpoint that does the same."""
    ctx.at_end(ctx[Models].add_protocol(WireProtocol(ResponsesEncoder(), connect)))
    yield
