"""The connection to one server: begun, watched, begun again when it breaks, and ended, all by one task.

A server that ends, that does not answer a ping, or whose call is over its time and that then does not answer a ping,
is broken: its tools are withdrawn at once, and it is started again after a pause that doubles, up to a number of times
in a row. A server that says that its list changed is asked for it anew, before the result that it said so with is
given. The loop tells the model of either, as it does of every change of the tools.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from typing import IO, TYPE_CHECKING

from everlog.mcp.settings import Server
from everlog.session.jsonvalue import JSON, JSONObject

if TYPE_CHECKING:  # both take long to import, and are imported where a server is used
    from anyio import CancelScope

    from everlog.mcp.wire import Line

_log = logging.getLogger("everlog.mcp")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
_STEADY = 60.0
"""How many seconds a server must have lived for its next end to be no failure in a row."""
_LAST_WORDS = 4_000

Offer = Callable[[Sequence[JSON]], None]
"""Takes what the server tells of its tools now; nothing while it is broken."""


class NotThere(ConnectionError):
    """The server is not there, and so the call did not begin."""


class Connection:
    """One server, from `begin` to `end`."""

    def __init__(self, name: str, server: Server, offer: Offer) -> None:
        self.name = name
        self.server = server
        self.failure: str | None = None
        """Why it is not there; None while it is, or was not tried yet."""
        self.given_up = False
        """Whether it broke so often that it is not started again."""
        self._offer = offer
        self._line: Line | None = None
        self._why: str | None = None
        self._calls = 0
        self._changes = 0  # of its list, that it told of
        self._seen = 0  # and that what is offered takes in
        self._stirred = asyncio.Event()
        self._current = asyncio.Event()
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._scope: CancelScope | None = None

    @property
    def is_up(self) -> bool:
        """Tell whether it can be called."""
        return self._line is not None

    async def settled(self) -> None:
        """Return when it is up, or is known not to be, and at the latest when its time to start is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.server.start_timeout):
                await self._settled.wait()

    def begin(self) -> None:
        """Start it, and keep it up until `end`, or until it was started again too often. Called once."""
        from anyio import CancelScope

        self._scope = CancelScope()
        self._task = asyncio.create_task(self._run(self._scope), name=f"mcp {self.name}")

    async def end(self) -> None:
        """End it, and return when it has: within seconds, also when it does not want to."""
        if self._scope is not None and self._task is not None:
            # Not the task itself: that would break off the end of a server that is being ended, and leave it behind.
            self._scope.cancel()
            await asyncio.wait({self._task})

    async def _run(self, scope: CancelScope) -> None:
        with scope:
            await self._keep()

    async def _keep(self) -> None:
        clock = asyncio.get_running_loop().time
        tries = 0
        while not self.given_up:
            began = clock()
            try:
                await self._live()
            except (Exception, BaseExceptionGroup) as error:
                self.failure = told(error)
            finally:
                self._withdraw()
            tries = 1 if clock() - began > _STEADY else tries + 1
            self.given_up = tries > self.server.restarts
            self._settled.set()
            _log.warning("mcp server %s: %s (failure %d in a row)", self.name, self.failure, tries)
            if not self.given_up:
                await asyncio.sleep(min(_FIRST_PAUSE * 2 ** (tries - 1), _LONGEST_PAUSE))

    async def _live(self) -> None:
        """Be connected, until it breaks. Raises what went wrong."""
        from everlog.mcp.wire import opened

        with tempfile.TemporaryFile("w+b") as said:
            try:
                async with contextlib.AsyncExitStack() as stack:
                    async with self._in_time():
                        opening = opened(self.server, said, self._heed_change, self._withdraw)
                        line = await stack.enter_async_context(opening)
                        self._changes, self._seen, self._why = 0, 0, None
                        found = await line.list_tools()
                    if line.has_ended:
                        raise ConnectionError("it ended")
                    self._offer(found)
                    self._line, self.failure = line, None
                    self._settled.set()
                    await self._watch(line)
            except (Exception, BaseExceptionGroup) as error:
                raise ConnectionError(f"{told(error)}{_last_line(said)}") from error

    @contextlib.asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.server.start_timeout):
                yield
        except TimeoutError:
            raise ConnectionError(f"it did not tell its tools within {self.server.start_timeout:g} seconds") from None

    def _heed_change(self) -> None:
        self._changes += 1
        self._current.clear()
        self._stirred.set()

    def _withdraw(self) -> None:
        """Take its tools back: from now on it cannot be called."""
        self._line = None
        self._offer(())
        self._stirred.set()
        self._current.set()

    async def _watch(self, line: Line) -> None:
        """Look after the line until it breaks. Raises why it did."""
        while self._line is line:
            if self._seen != self._changes:
                await self._list_again(line)
                continue
            self._current.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.server.ping):
                    await self._stirred.wait()
            stirred = self._stirred.is_set()
            self._stirred.clear()
            # A server that works on a call may have no time for a ping: the call's own time is over at some time.
            if not stirred and not self._calls and not await line.answers():
                raise ConnectionError("it stopped answering")
        raise ConnectionError(self._why or "it ended")

    async def _list_again(self, line: Line) -> None:
        changes = self._changes
        async with self._in_time():
            found = await line.list_tools()
        if self._line is line:
            self._offer(found)
            self._seen = changes

    async def call(self, tool: str, arguments: JSONObject) -> JSONObject:
        """Call a tool, and give the result as the server wrote it.

        Raises:
            Refused: the server answered with an error of the protocol.
            NotThere: the server is not there.
            ConnectionError: it broke down during the call.
            TimeoutError: it took too long.
        """
        line = self._line
        if line is None:
            raise NotThere(self.failure or "it is being started")
        result = await self._asked(line, {"name": tool, "arguments": arguments})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.server.start_timeout):
                await self._current.wait()
        return result

    async def _asked(self, line: Line, call: JSONObject) -> JSONObject:
        self._calls += 1
        try:
            async with asyncio.timeout(self.server.timeout):
                return await line.ask("tools/call", call)
        except TimeoutError:
            if not await line.answers():
                self._break(line, "it stopped answering")
            raise
        except ConnectionError as error:
            self._break(line, told(error))
            raise
        finally:
            self._calls -= 1

    def _break(self, line: Line, why: str) -> None:
        if self._line is line:
            self._why = why
            self._withdraw()


def told(error: BaseException) -> str:
    """Give what an error says, in a line; of a group, what its first one says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(str(error).split()) or type(error).__name__


def _last_line(said: IO[bytes]) -> str:
    """Give what the server wrote last on stderr."""
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - _LAST_WORDS))
    lines = [line.strip() for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return f" (it said: {lines[-1]})" if lines else ""
