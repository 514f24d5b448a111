"""An official SDK's client, as far as it is used: to post bytes and to read the events of a stream.

The SDKs of OpenAI and Anthropic are made by one generator: they share their names, and their manners. What
differs is how a client is made, and stands in a subclass of each protocol's folder.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from everlog.llm.failure import ModelFailure
from everlog.llm.httpfailure import (
    Endpoint,
    from_status,
    from_stream_error,
    malformed,
    not_a_stream,
    timed_out,
    unreachable,
)

CONNECT_SECONDS = 15
_TRANSPORTS = ("httpx", "httpx2", "httpcore", "httpcore2", "h11")


class Connection(ABC):
    """One endpoint. The client is made at the first request, and keeps its connections until `aclose`.

    The key and the headers stay in this object and in what goes over the wire; nothing else holds them.
    """

    def __init__(self, endpoint: Endpoint, key: str | None, headers: Mapping[str, str]) -> None:
        self.endpoint = endpoint
        self._key = key
        self._headers = dict(headers)
        self._client: Any = None

    @abstractmethod
    def _sdk(self) -> Any:
        """Give the SDK's module, imported now."""

    @abstractmethod
    def _make_client(self, sdk: Any) -> Any:
        """Make the SDK's client, which shall retry nothing and have no time limit but for connecting."""

    async def aclose(self) -> None:
        """Close every connection that is kept."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def events(self, path: str, model: str, body: bytes) -> AsyncGenerator[object, None]:
        """Post exactly these bytes and give the decoded events as they come.

        Closing the iterator, or cancelling, closes the connection.

        Raises:
            ModelFailure: whatever went wrong, in the words of `everlog.llm.httpfailure`.
        """
        sdk = await asyncio.to_thread(self._sdk)  # an import of seconds, which shall not hold up the loop
        try:
            async for event in self._post(sdk, path, body):
                yield event
        except ModelFailure:
            raise
        except Exception as error:
            raise self._failure(sdk, model, error) from error

    async def _post(self, sdk: Any, path: str, body: bytes) -> AsyncGenerator[object, None]:
        headers: dict[str, Any] = {"Content-Type": "application/json"}
        if self._key is None and not any(name.lower() == "authorization" for name in self._headers):
            headers["Authorization"] = sdk.omit
        if self._client is None:
            self._client = self._make_client(sdk)
        stream = await self._client.post(
            path,
            cast_to=object,
            content=body,
            options={"headers": headers},
            stream=True,
            stream_cls=sdk.AsyncStream[object],
        )
        async with stream:
            answer = stream.response
            content_type = answer.headers.get("content-type", "")
            if "event-stream" not in content_type:
                await answer.aread()
                raise not_a_stream(self.endpoint, answer.status_code, content_type, str(answer.text))
            async for event in stream:
                yield event

    def _failure(self, sdk: Any, model: str, error: Exception) -> Exception:
        """Give the failure for what the SDK raised; an error that is not the provider's or the network's stays."""
        if isinstance(error, sdk.APIStatusError):
            return self._refused(model, error)
        if isinstance(error, sdk.APITimeoutError):
            return timed_out(self.endpoint)
        if isinstance(error, sdk.APIConnectionError) or type(error).__module__.partition(".")[0] in _TRANSPORTS:
            return unreachable(self.endpoint, error)
        if isinstance(error, sdk.APIError):
            return from_stream_error(self.endpoint, model, error.body, error.message)
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            return malformed(self.endpoint, error)
        return error

    def _refused(self, model: str, error: Any) -> ModelFailure:
        if error.status_code < 400:  # the status was good, and an error came in the stream
            return from_stream_error(self.endpoint, model, error.body, error.message)
        answer = error.response
        return from_status(self.endpoint, model, error.status_code, answer.headers, error.body, str(answer.text))
