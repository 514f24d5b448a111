"""The official SDK's client, as far as it is used: to post bytes and read the events of a stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from openai import AsyncOpenAI

CONNECT_SECONDS = 15


class Connection:
    """One endpoint. The client is made at the first request, and keeps its connections until `aclose`.

    The key and the headers stay in this object and in what goes over the wire; nothing else holds them.
    """

    def __init__(self, endpoint: Endpoint, key: str | None, headers: Mapping[str, str]) -> None:
        self.endpoint = endpoint
        self._key = key
        self._headers = dict(headers)
        self._authorized = key is not None or any(name.lower() == "authorization" for name in headers)
        self._client: AsyncOpenAI | None = None

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
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

        try:
            async for event in self._post(path, body):
                yield event
        except ModelFailure:
            raise
        except APIStatusError as error:
            answer = error.response
            raise from_status(
                self.endpoint, model, error.status_code, answer.headers, _json(answer), _body_text(answer)
            ) from error
        except APITimeoutError as error:
            raise timed_out(self.endpoint) from error
        except APIConnectionError as error:
            raise unreachable(self.endpoint, error) from error
        except APIError as error:
            raise from_stream_error(self.endpoint, model, error.body, error.message) from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise malformed(self.endpoint, error) from error

    async def _post(self, path: str, body: bytes) -> AsyncGenerator[object, None]:
        from openai import AsyncStream, omit

        headers: dict[str, Any] = {"Content-Type": "application/json"}
        if not self._authorized:
            headers["Authorization"] = omit
        options: Any = {"headers": headers}
        stream = await self._get_client().post(
            path, cast_to=object, content=body, options=options, stream=True, stream_cls=AsyncStream[object]
        )
        async with stream:
            content_type = stream.response.headers.get("content-type", "")
            if "event-stream" not in content_type:
                await stream.response.aread()
                raise not_a_stream(
                    self.endpoint, stream.response.status_code, content_type, _body_text(stream.response)
                )
            async for event in stream:
                yield event

    def _get_client(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI, Timeout, omit

            # What the SDK would take from the environment is meant for OpenAI itself, and for nobody else.
            is_openai = self.endpoint.provider.startswith("openai")
            headers: Any = {} if is_openai else {"OpenAI-Organization": omit, "OpenAI-Project": omit}
            self._client = AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self.endpoint.url,
                default_headers={**headers, **self._headers},
                max_retries=0,
                timeout=Timeout(None, connect=CONNECT_SECONDS),
            )
        return self._client


def _json(answer: Any) -> object:
    try:
        return answer.json()
    except ValueError:
        return None


def _body_text(answer: Any) -> str:
    return str(answer.text)
