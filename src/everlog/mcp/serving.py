"""Sessions for MCP clients: listed, searched, shown and verified, and never changed."""

from __future__ import annotations

from typing import Any

import msgspec

from everlog.session.log import Log
from everlog.store.seam import Store

INSTRUCTIONS = (
    "Sessions of Everlog agents, read-only. Begin with list_sessions or search_sessions; ids go into the others."
)
_AT_MOST = 200


def server_of(store: Store) -> Any:
    """Make the SDK's server over a store."""
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    from everlog import __version__

    server = MCPServer("everlog", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for function in _functions(store):
        server.tool(annotations=reads, structured_output=False)(function)
    return server


def _functions(store: Store) -> list[Any]:
    async def list_sessions(limit: int = 50) -> str:
        """List sessions, those used last first: id, title, beginning, when, how many events."""
        return _json(await store.list(min(max(limit, 1), _AT_MOST)))

    async def search_sessions(words: str, limit: int = 20) -> str:
        """Search titles and messages for sessions where all words were said, with the place."""
        return _json(await store.search(words, min(max(limit, 1), _AT_MOST)))

    async def show_session(id: str, start: int = 0, limit: int = 50) -> str:
        """Show lines of a session's transcript from a position on: who said what, calls and results."""
        async with await store.open(id, "read") as log:
            lines = log.transcript()
            chosen = lines[max(start, 0) : max(start, 0) + min(max(limit, 1), _AT_MOST)]
            told = [{"seq": line.seq, "message": _value(line.message)} for line in chosen]
            return _json({"id": id, "lines": told, "of": len(lines)})

    async def session_steps(id: str) -> str:
        """Tell each step of a session: model, tools offered, calls and their outcome, how it ended."""
        async with await store.open(id, "read") as log:
            return _json(log.project("steps"))

    async def session_request(id: str, turn: int, step: int, attempt: int = 1) -> str:
        """Give the request of a step as a model was sent it: configuration, tools, messages."""
        async with await store.open(id, "read") as log:
            return _json(_request(log, (turn, step, attempt)))

    async def verify_session(id: str) -> str:
        """Verify that every event of a session is as it was stored, and breaks no rule."""
        found = await store.verify(id)
        broken = [str(one) for one in found.violations]
        return _json({"events": found.events, "sound": found.sound, "faults": list(found.faults), "violations": broken})

    return [list_sessions, search_sessions, show_session, session_steps, session_request, verify_session]


def _request(log: Log, place: tuple[int, int, int]) -> object:
    found = log.project("request")
    if place not in found:
        raise ValueError(
            f"no request {place[0]}.{place[1]}.{place[2]}; there are {', '.join(map(str, list(found)[:20]))}"
        )
    return found[place].request


def _value(view: Any) -> object:
    return None if view is None else view.value()


def _json(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=_plain).decode()


def _plain(value: Any) -> object:
    own = getattr(value, "to_json", None)
    if own is not None:
        return msgspec.Raw(own())
    return list(value) if hasattr(value, "__iter__") else str(value)


async def serve(store: Store) -> None:
    """Serve a store on stdin and stdout until the client leaves."""
    await server_of(store).run_stdio_async()
