"""Chat completions: the protocol of OpenAI that most other servers speak too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import cached_property
from importlib.metadata import version

from everlog.kernel import Context, plugin
from everlog.llm.catalogue import Provider
from everlog.llm.connection import Connection
from everlog.llm.openai.chatbody import NAME, chat_body
from everlog.llm.openai.chatreader import ChatReader
from everlog.llm.openai.connection import connection_to
from everlog.llm.seam import BlobReader, Models, WireProtocol
from everlog.session.records import Delta
from everlog.session.request import Request

BYTES_VERSION = 1
"""Goes up with every change of `chat_body` that changes a byte of some request's body."""


class ChatEncoder:
    """Makes the bodies."""

    name = NAME

    @cached_property
    def version(self) -> str:
        """Give the version of the bytes and of the SDK that sends them."""
        return f"{BYTES_VERSION}+openai-{version('openai')}"

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        """Give the body; see `everlog.llm.openai.chatbody`."""
        return chat_body(request, blobs)


class ChatAdapter(ChatEncoder):
    """Speaks with one endpoint."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._connection.aclose()

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Send the body and give the answer as it comes. Raises ModelFailure."""
        reader = ChatReader()
        async with aclosing(self._connection.events("/chat/completions", request.model, body)) as events:
            async for event in events:
                for delta in reader.read(event):
                    yield delta
        for delta in reader.end():
            yield delta


def connect(provider: str, known: Provider, key: str | None, headers: Mapping[str, str]) -> ChatAdapter:
    """Make the adapter for an endpoint of the catalogue; nothing is sent before the first request."""
    return ChatAdapter(connection_to(provider, known, key, headers))


@plugin(requires=(Models,))
async def openai(ctx: Context) -> AsyncIterator[None]:
    """Speaks chat completions with OpenAI and with every endpoint that does the same."""
    ctx.at_end(ctx[Models].add_protocol(WireProtocol(ChatEncoder(), connect)))
    yield
