"""A server's tools as ordinary tools: permitted, bounded and logged like any other."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from everlog.mcp.connection import Connection, NotThere, told
from everlog.mcp.naming import parameters, tool_name
from everlog.mcp.results import output_of
from everlog.mcp.settings import Server
from everlog.session.jsonvalue import JSON, JSONObject, scrub
from everlog.tools.bounding import cut
from everlog.tools.seam import Arguments, Effects, Tool, ToolContext, ToolFailure, ToolOutput

_log = logging.getLogger("everlog.mcp")
_MOST_DESCRIPTION = 10_000


def tools_of(connection: Connection, found: Sequence[JSON]) -> list[Tool]:
    """Make tools of what a server tells of; an entry without a name is left out, and the first of equal names is it."""
    wanted = connection.server.tools
    made: dict[str, Tool] = {}
    for entry in found:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(name, str) or not name:
            _log.warning("mcp server %s tells of a tool that has no name; it is left out", connection.name)
        elif wanted is None or name in wanted:
            tool = _tool_of(connection, name, entry)
            made.setdefault(tool.name, tool)
    return list(made.values())


def _tool_of(connection: Connection, name: str, entry: JSONObject) -> Tool:
    async def invoke(context: ToolContext, arguments: Arguments) -> ToolOutput:
        return await _called(connection, name, context, arguments)

    schema, words = parameters(entry.get("inputSchema"))
    description = entry.get("description")
    said = scrub(description) if isinstance(description, str) and description.strip() else scrub(name)
    effects, network = _reach(connection.server, name, entry.get("annotations"))
    return Tool(
        name=tool_name(connection.name, scrub(name)),
        description=cut(said, _MOST_DESCRIPTION) + words,
        parameters=schema,
        check=lambda given: dict(given),  # the server checks them, and says what does not fit
        invoke=invoke,
        effects=effects,
        parallel_safe=effects == "read-only",
        network=network,
    )


def _reach(server: Server, name: str, annotations: JSON) -> tuple[Effects, bool]:
    """Give what a call changes, and whether it reaches out of this machine.

    A server's annotations are its own word, and nobody vouches for it. Unless the user trusts them, all that a server
    which says "read-only" or "idempotent" gains is that a model whose call was lost may repeat it; people are asked
    before it runs all the same. Silence counts as the protocol has it: it changes things, and reaches out.
    """
    hints = annotations if isinstance(annotations, dict) else {}
    if name in server.read_only:
        return "read-only", False
    if hints.get("readOnlyHint") is True:
        return ("read-only" if server.trust_annotations else "idempotent"), hints.get("openWorldHint") is not False
    return ("idempotent" if hints.get("idempotentHint") is True else "mutating"), True


async def _called(connection: Connection, name: str, context: ToolContext, arguments: Arguments) -> ToolOutput:
    from everlog.mcp.wire import Refused

    who = f"The MCP server {connection.name}"
    given: JSONObject = dict(arguments)  # type: ignore[arg-type] # they are the model's JSON as it came
    try:
        result = await connection.call(name, given)
    except ConnectionError as error:
        what = "It is not started again." if connection.given_up else "It is being started again."
        effect = "did not begin" if isinstance(error, NotThere) else "may have taken effect"
        text = f"{who} is not there: {told(error)}. {what} The call {effect}."
        raise ToolFailure(text, code="MCP_SERVER_GONE") from None
    except TimeoutError:
        text = f"{who} took longer than {connection.server.timeout:g} seconds. The call may have taken effect."
        raise ToolFailure(text, code="TOOL_TIMEOUT") from None
    except Refused as error:
        raise ToolFailure(f"{who} refused the call: {told(error)}", code="MCP_ERROR") from None
    return output_of(result, context.blobs)
