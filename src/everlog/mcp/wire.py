"""A line to one server: the SDK's transports, handshake and dispatcher, without its reading of tools and results.

Tools and results are read from the JSON as it came, since the SDK refuses a whole list for one tool that is not as it
should be, and a whole result that does not fit the schema that the server gave for it.

Imports the SDK, and so is imported only where a server is reached.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import IO, Any

import anyio
import httpx2
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, Implementation, jsonrpc_message_adapter
from pydantic import ValidationError

from everlog.mcp.settings import Server
from everlog.session.jsonvalue import JSON, JSONObject, scrub_json

_PING_TIMEOUT = 5.0
_CHANGED = "notifications/tools/list_changed"
_OWN_WORDS = (METHOD_NOT_FOUND, INVALID_PARAMS)
"""Refusals that only a server that lives can give; others come from what stands between as well."""


class Refused(Exception):
    """The server answered a request with an error, and lives."""


class Line:
    """An open connection. `on_change` is called when the server says that its list changed."""

    def __init__(self, dispatcher: _Dispatcher) -> None:
        self._dispatcher = dispatcher

    @property
    def has_ended(self) -> bool:
        """Tell whether the server has hung up."""
        return self._dispatcher.has_ended

    async def ask(self, method: str, params: Mapping[str, JSON] | None = None) -> JSONObject:
        """Send a request, and give its result. A cancelled one is cancelled at the server.

        Raises:
            Refused: the server answered with an error.
            ConnectionError: the line is broken.
        """
        try:
            return await self._dispatcher.send_raw_request(method, params)
        except MCPError as error:
            if error.code not in _OWN_WORDS and not await self.answers():
                raise ConnectionError(str(error)) from error
            raise Refused(str(error)) from error

    async def list_tools(self, most_pages: int = 100) -> list[JSON]:
        """Give what the server tells of its tools, page by page; nothing where it knows of no tools."""
        found: list[JSON] = []
        cursor: JSON = None
        for _ in range(most_pages):
            try:
                page = await self._dispatcher.send_raw_request("tools/list", {"cursor": cursor} if cursor else None)
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return found
                raise ConnectionError(str(error)) from error
            tools, cursor = page.get("tools"), page.get("nextCursor")
            found += tools if isinstance(tools, list) else []
            if not cursor:
                break
        return found

    async def answers(self) -> bool:
        """Tell whether the server answers a ping, were it only that it knows none."""
        try:
            async with asyncio.timeout(_PING_TIMEOUT):
                await self._dispatcher.send_raw_request("ping", None)
        except MCPError as error:
            return error.code == METHOD_NOT_FOUND
        except TimeoutError:
            return False
        return True


class _Dispatcher(JSONRPCDispatcher[Any]):
    """The SDK's dispatcher, which also tells of a changed list in the order of the wire, and of the end at once."""

    on_change: Callable[[], None]
    on_end: Callable[[], None]
    has_ended = False

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Drive the receive loop; see the SDK."""

        def heard(method: str, params: Mapping[str, Any] | None) -> bool:
            if method == _CHANGED:
                self.on_change()
            return on_notify_intercept(method, params) if on_notify_intercept is not None else False

        try:
            await super().run(on_request, on_notify, heard, task_status=task_status)
        finally:
            self.has_ended = True
            self.on_end()


class _Mended:
    """A stream on which messages with halves of surrogate pairs are read too.

    JSON may escape them, and Node does for a text that was cut within one; the SDK takes such a line for none, and
    whoever waits for its answer would wait until the time is over.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        return _mended(await self._stream.__anext__())


def _mended(item: Any) -> Any:
    """Give the message that a line holds which the SDK could not read, or what it says of one that holds none."""
    if not isinstance(item, ValidationError):
        return item
    try:
        found = json.loads(item.errors()[0]["input"])
        return SessionMessage(jsonrpc_message_adapter.validate_python(scrub_json(found), by_name=False))
    except (ValueError, TypeError, RecursionError):
        return item


@asynccontextmanager
async def opened(
    server: Server, said: IO[bytes], on_change: Callable[[], None], on_end: Callable[[], None]
) -> AsyncIterator[Line]:
    """Start or reach a server, and shake hands. `said` takes what it writes on stderr.

    Raises what the system and the SDK raise when there is no such server, or it does not speak the protocol.
    """
    from everlog import __version__

    async with _transport(server, said) as (read, write):
        dispatcher = _Dispatcher(_Mended(read), write)
        dispatcher.on_change, dispatcher.on_end = on_change, on_end
        client = Implementation(name="everlog", version=__version__)
        async with ClientSession(dispatcher=dispatcher, client_info=client) as session:
            await session.initialize()
            yield Line(dispatcher)


@asynccontextmanager
async def _transport(server: Server, said: IO[bytes]) -> AsyncIterator[Any]:
    if server.url is None:
        command, *arguments = server.command
        passed = {name: os.environ[name] for name in server.pass_env if name in os.environ}
        parameters = StdioServerParameters(
            command=command, args=arguments, env=passed | server.env, cwd=server.cwd, encoding_error_handler="replace"
        )
        async with stdio_client(parameters, errlog=said) as streams:  # type: ignore[arg-type]
            yield streams
        return
    waits = httpx2.Timeout(30, read=max(300, server.timeout))  # an answer may be streamed for as long as a call lasts
    async with (
        httpx2.AsyncClient(headers=_headers(server), timeout=waits) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


def _headers(server: Server) -> dict[str, str]:
    """Give the HTTP headers of an endpoint. Raises ConnectionError when its token is not there."""
    if server.token_env is None:
        return server.headers
    token = os.environ.get(server.token_env, "").strip()
    if not token:
        raise ConnectionError(f"the environment has no {server.token_env}, which token_env names")
    return {"Authorization": f"Bearer {token}", **server.headers}
