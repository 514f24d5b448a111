"""Messages: the protocol of Anthropic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from everlog.kernel import Context, plugin
from everlog.llm.anthropic.body import NAME, messages_body
from everlog.llm.anthropic.reader import MessagesReader
from everlog.llm.catalogue import ModelFacts, Provider
from everlog.llm.connection import CONNECT_SECONDS, Connection
from everlog.llm.httpfailure import endpoint_of
from everlog.llm.models import ProviderUnavailable
from everlog.llm.seam import BlobReader, Models, WireProtocol
from everlog.session.jsonvalue import JSONObject
from everlog.session.records import Delta
from everlog.session.request import Request

BYTES_VERSION = 1
"""Goes up with every change of `messages_body` that changes a byte of some request's body."""

DEFAULT_MAX_TOKENS = 8192
"""The output ceiling where neither the configuration nor the catalogue knows one."""


class MessagesEncoder:
    """Makes the bodies."""

    name = NAME

    @cached_property
    def version(self) -> str:
        """Give the version of the bytes and of the SDK that sends them."""
        try:
            return f"{BYTES_VERSION}+anthropic-{version('anthropic')}"
        except PackageNotFoundError:
            return f"{BYTES_VERSION}+anthropic-none"

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        """Give the body; see `everlog.llm.anthropic.body`."""
        return messages_body(request, blobs)


class MessagesAdapter(MessagesEncoder):
    """Speaks with one endpoint."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._connection.aclose()

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Send the body and give the answer as it comes. Raises ModelFailure."""
        reader = MessagesReader()
        async with aclosing(self._connection.events("/v1/messages", request.model, body)) as events:
            async for event in events:
                for delta in reader.read(event):
                    yield delta
        for delta in reader.end():
            yield delta


class AnthropicConnection(Connection):
    """An endpoint that Anthropic's SDK speaks with."""

    def _sdk(self) -> Any:
        import anthropic

        return anthropic

    def _make_client(self, sdk: Any) -> Any:
        return sdk.AsyncAnthropic(
            api_key=self._key or "none",
            base_url=self.endpoint.url,
            default_headers=self._headers,
            max_retries=0,
            timeout=sdk.Timeout(None, connect=CONNECT_SECONDS),
        )


def connect(provider: str, known: Provider, key: str | None, headers: Mapping[str, str]) -> MessagesAdapter:
    """Make the adapter for an endpoint of the catalogue; nothing is sent before the first request.

    Raises:
        ProviderUnavailable: the SDK is not installed.
    """
    if MessagesEncoder().version.endswith("-none"):
        raise ProviderUnavailable(f"provider {provider} needs an extra: pip install 'everlog[anthropic]'")
    return MessagesAdapter(AnthropicConnection(endpoint_of(provider, known, key, headers), key, headers))


def defaults(config: JSONObject, facts: ModelFacts) -> JSONObject:
    """Give the output ceiling when the configuration has none: the protocol demands one."""
    return {} if "maxTokens" in config else {"maxTokens": facts.max_output or DEFAULT_MAX_TOKENS}


@plugin(requires=(Models,))
async def anthropic(ctx: Context) -> AsyncIterator[None]:
    """Speaks the messages protocol with Anthropic and with every endpoint that does the same."""
    ctx.at_end(ctx[Models].add_protocol(WireProtocol(MessagesEncoder(), connect, defaults)))
    yield
