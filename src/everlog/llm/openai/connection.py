"""The client of OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everlog.llm.catalogue import Provider
from everlog.llm.connection import CONNECT_SECONDS, Connection
from everlog.llm.httpfailure import endpoint_of


class OpenAIConnection(Connection):
    """An endpoint that OpenAI's SDK speaks with, OpenAI's own or another's."""

    def _sdk(self) -> Any:
        import openai

        return openai

    def _make_client(self, sdk: Any) -> Any:
        # What the SDK would take from the environment is meant for OpenAI itself, and for nobody else.
        is_openai = self.endpoint.provider.startswith("openai")
        headers = {} if is_openai else {"OpenAI-Organization": sdk.omit, "OpenAI-Project": sdk.omit}
        return sdk.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self.endpoint.url,
            default_headers={**headers, **self._headers},
            max_retries=0,
            timeout=sdk.Timeout(None, connect=CONNECT_SECONDS),
        )


def connection_to(provider: str, known: Provider, key: str | None, headers: Mapping[str, str]) -> OpenAIConnection:
    """Make the connection to an endpoint of the catalogue; nothing is sent before the first request."""
    return OpenAIConnection(endpoint_of(provider, known, key, headers), key, headers)
