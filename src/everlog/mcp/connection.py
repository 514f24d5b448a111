"""The connection to one server: begun, watched, begun again when it breaks, and ended, all by one task.

A server whose process ends, that does not answer a ping, or whose call is over its time and that then does not answer
a ping, counts as broken: its tools are withdrawn, and it is started again after a pause that doubles, up to a number
of times. A server that says that its list changed is asked for it anew. The loop tells the model of either.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from typing import IO, Any

from everlog.mcp.settings import McpUnavailable, Server

_log = logging.getLogger("everlog.mcp")
_FIRST_PAUSE = 0.2
_PING_TIMEOUT = 5.0

Offer = Callable[[Sequence[Any]], None]
"""Takes the tools that the server has now; none while it is broken."""


class Connection:
    """One server. `run` is the task that keeps it."""

    def __init__(self, name: str, server: Server, offer: Offer) -> None:
        self.name = name
        self.server = server
        self.failure: str | None = None
        """Why it is not there; None while it is, or was not tried yet."""
        self._offer = offer
        self._client: Any = None
        self._settled = asyncio.Event()
        self._broken = asyncio.Event()
        self._changed = asyncio.Event()

    @property
    def is_up(self) -> bool:
        """Tell whether it can be called."""
        return self._client is not None

    async def settled(self) -> None:
        """Return when it is up, or is known not to be, and at the latest when its time to start is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.server.start_timeout):
                await self._settled.wait()

    async def run(self) -> None:
        """Keep it up until cancelled, or until it was started again too often."""
        pause = _FIRST_PAUSE
        for attempt in range(self.server.restarts + 1):
            try:
                await self._live()
                pause = _FIRST_PAUSE
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                self.failure = _told(error)
            finally:
                self._client = None
                self._offer(())
            self._settled.set()
            _log.warning("mcp server %s: %s (try %d)", self.name, self.failure, attempt + 1)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30)

    async def _live(self) -> None:
        """Be connected, until it breaks. Raises what went wrong."""
        from mcp import Client

        self._broken.clear()
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            client = None
            try:
                async with contextlib.AsyncExitStack() as stack:
                    async with asyncio.timeout(self.server.start_timeout):
                        transport = await stack.enter_async_context(_transport(self.server, said))
                        client = await stack.enter_async_context(
                            Client(_Held(transport), message_handler=self._hear, mode="legacy")
                        )
                        await self._list(client)
                    self._client, self.failure = client, None
                    self._settled.set()
                    await self._watch(client)
            except Exception as error:
                raise ConnectionError(f"{_told(error)}{_last_line(said)}") from error
        raise ConnectionError("the server stopped answering")

    async def _hear(self, message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self._changed.set()
        elif isinstance(message, Exception):
            self._broken.set()

    async def _list(self, client: Any) -> None:
        self._changed.clear()
        found: list[Any] = []
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        wanted = self.server.tools
        self._offer([tool for tool in found if wanted is None or tool.name in wanted])

    async def _watch(self, client: Any) -> None:
        """Return when it does not answer any more."""
        while not self._broken.is_set():
            waits = [asyncio.ensure_future(event.wait()) for event in (self._broken, self._changed)]
            try:
                await asyncio.wait(waits, timeout=self.server.ping, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
            if self._changed.is_set():
                async with asyncio.timeout(self.server.start_timeout):
                    await self._list(client)
            elif not self._broken.is_set() and not await _answers(client):
                return

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call a tool, and give the SDK's result.

        Raises:
            ConnectionError: the server is not there, or broke down during the call; it is being started again.
            TimeoutError: it took too long.
        """
        client = self._client
        if client is None:
            raise ConnectionError(self.failure or "the server is being started")
        try:
            async with asyncio.timeout(self.server.timeout):
                return await client.call_tool(tool, arguments)
        except TimeoutError:
            if not await _answers(client):
                self._broken.set()
            raise
        except Exception as error:
            if not await _answers(client):
                self._broken.set()
                raise ConnectionError(_told(error)) from error
            raise


class _Held:
    """A transport that is entered already."""

    def __init__(self, streams: Any) -> None:
        self._streams = streams

    async def __aenter__(self) -> Any:
        return self._streams

    async def __aexit__(self, *rest: object) -> None:
        return None


@contextlib.asynccontextmanager
async def _transport(server: Server, said: IO[str]) -> AsyncIterator[Any]:
    from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if server.url is not None:
        async with streamable_http_client(server.url) as streams:
            yield streams
        return
    if not server.command:
        raise ValueError("neither a command nor a url is configured")
    command, *arguments = server.command
    environ = {**get_default_environment(), **server.env}
    parameters = StdioServerParameters(command=command, args=arguments, env=environ, cwd=server.cwd)
    async with stdio_client(parameters, errlog=said) as streams:  # type: ignore[arg-type]
        yield streams


async def _answers(client: Any) -> bool:
    try:
        async with asyncio.timeout(_PING_TIMEOUT):
            await client.send_ping()
    except Exception:
        return False
    return True


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def _last_line(said: IO[str]) -> str:
    """Give what the server wrote last on stderr."""
    said.seek(0)
    lines = [line for line in said.read()[-4000:].splitlines() if line.strip()]
    return f" (it said: {lines[-1].strip()})" if lines else ""


def require_sdk() -> None:
    """Raise McpUnavailable where the SDK is not installed."""
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise McpUnavailable
