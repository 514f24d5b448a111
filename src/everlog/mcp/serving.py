"""Sessions for MCP clients: listed, searched, shown and verified, and never changed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from everlog.errors import EverlogError
from everlog.session.jsonable import jsonable
from everlog.session.jsonvalue import scrub
from everlog.session.log import Log
from everlog.session.projections.transcript import Line
from everlog.store.seam import Store
from everlog.tools.bounding import cut

INSTRUCTIONS = (
    "Sessions of Everlog agents, read-only. Begin with list_sessions or search_sessions; ids go into the other tools."
)
_AT_MOST = 200

Function: TypeAlias = Callable[..., Coroutine[Any, Any, str]]


async def serve(store: Store) -> None:
    """Serve a store on stdin and stdout until the client leaves."""
    await server_of(store).run_stdio_async()


def server_of(store: Store) -> Any:
    """Make the SDK's server over a store."""
    from mcp.server.mcpserver import MCPServer
    from mcp_types import ToolAnnotations

    from everlog import __version__

    server = MCPServer("everlog", instructions=INSTRUCTIONS, version=__version__, log_level="CRITICAL")
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for function in (*_finding(store), *_reading(store)):
        server.tool(annotations=reads, structured_output=False)(function)
    return server


def _finding(store: Store) -> list[Function]:
    async def list_sessions(limit: int = 50, after: str | None = None) -> str:
        """List sessions, those used last first: id, title, preview, times, how many events.

        `after` is the `cursor` of the last one of a page, and gives the next page.
        """
        with _telling():
            return _json(await store.list(_bounded(limit), after=after))

    async def search_sessions(words: str, limit: int = 20) -> str:
        """Search titles and messages for the places where all words stand: session, seq, title, snippet."""
        with _telling():
            return _json(await store.search(words, _bounded(limit)))

    return [list_sessions, search_sessions]


def _reading(store: Store) -> list[Function]:
    async def show_session(id: str, start: int = 0, limit: int = 50, longest: int = 2_000) -> str:
        """Show lines of a session's transcript from a position on: who said what, calls and their results.

        `of` is how many lines there are. Texts of more than `longest` characters are cut in their middle.
        """
        with _telling():
            async with await store.open(id, "read") as log:
                lines = log.transcript()
                chosen = lines[max(start, 0) :][: _bounded(limit)]
                told = [_shortened(_line(line), max(longest, 100)) for line in chosen]
                facts = {"id": id, "title": log.project("title"), "header": log.header, "running": log.running}
                return _json({**facts, "of": len(lines), "start": max(start, 0), "lines": told})

    async def session_steps(id: str) -> str:
        """Tell each step of a session: model, tools offered, calls and their outcome, how it ended."""
        with _telling():
            async with await store.open(id, "read") as log:
                return _json(list(log.project("steps")))

    async def session_request(id: str, turn: int, step: int, attempt: int = 1) -> str:
        """Give the exact request of a step as a model was sent it: configuration, tools, messages."""
        with _telling():
            async with await store.open(id, "read") as log:
                return _json(_request(log, (turn, step, attempt)))

    async def verify_session(id: str) -> str:
        """Verify that every event of a session is there as it was stored, and that the log breaks no rule."""
        with _telling():
            found = await store.verify(id)
            faults, broken = (list(map(str, some)) for some in (found.faults, found.violations))
            return _json({"events": found.events, "sound": found.sound, "faults": faults, "violations": broken})

    return [show_session, session_steps, session_request, verify_session]


class _NoSuchRequest(EverlogError):
    pass


@contextmanager
def _telling() -> Iterator[None]:
    """Have the client's model read what went wrong; of another error the SDK tells it nothing."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        yield
    except (EverlogError, OSError) as error:
        raise ToolError(str(error)) from error


def _bounded(limit: int) -> int:
    return min(max(limit, 1), _AT_MOST)


def _line(line: Line) -> dict[str, object]:
    said = {"message": line.message} if line.message is not None else {"blocks": list(line.blocks)}
    failed = {"failure": line.failure} if line.failure is not None else {}
    return {"seq": line.seq, "type": line.event.type, "interrupted": line.interrupted, **said, **failed}


def _shortened(value: object, longest: int) -> object:
    """Give JSON with each long text cut in its middle."""
    plain = msgspec.json.decode(msgspec.json.encode(jsonable(value)))
    return _cut_within(plain, longest)


def _cut_within(value: object, longest: int) -> object:
    match value:
        case str():
            return cut(value, longest)
        case dict():
            return {key: _cut_within(item, longest) for key, item in value.items()}
        case list():
            return [_cut_within(item, longest) for item in value]
        case _:
            return value


def _request(log: Log, place: tuple[int, int, int]) -> dict[str, object]:
    found = log.project("request")
    if place not in found:
        some = ", ".join(".".join(map(str, key)) for key in list(found)[-10:])
        raise _NoSuchRequest(f"there is no request {'.'.join(map(str, place))}; the last ones are: {some or 'none'}")
    asked = found[place]
    return {"turn": place[0], "step": place[1], "attempt": place[2], "sent": asked.sent, "request": asked.request}


def _json(value: object) -> str:
    return scrub(msgspec.json.encode(jsonable(value)).decode("utf-8", "surrogatepass"))
