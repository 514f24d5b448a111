"""A server's tools as ordinary tools: `mcp__SERVER__TOOL`, permitted, bounded and logged like any other."""

from __future__ import annotations

import base64
import re
from typing import Any

from everlog.mcp.connection import Connection
from everlog.session.jsonvalue import JSONObject, NotJSON, encode, scrub, scrub_json
from everlog.session.messages import Block, Image, Text
from everlog.tools.seam import Arguments, Tool, ToolContext, ToolFailure, ToolOutput

_LONGEST = 64


def tool_name(server: str, tool: str) -> str:
    """Give the name that a model calls a server's tool by: of the characters and length that providers take."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server}__{tool}")[:_LONGEST]


def tool_of(connection: Connection, found: Any) -> Tool:
    """Make a tool of one that a server tells of."""
    name = str(found.name)

    async def invoke(context: ToolContext, arguments: Arguments) -> ToolOutput:
        return await _called(connection, name, context, arguments)

    schema = scrub_json(found.input_schema)
    return Tool(
        name=tool_name(connection.name, name),
        description=scrub(found.description or name),
        parameters=schema if isinstance(schema, dict) else {"type": "object"},
        check=lambda given: dict(given),
        invoke=invoke,
        effects="read-only" if name in connection.server.read_only else "mutating",
        parallel_safe=name in connection.server.read_only,
    )


async def _called(connection: Connection, name: str, context: ToolContext, arguments: Arguments) -> ToolOutput:
    try:
        result = await connection.call(name, dict(arguments))
    except ConnectionError as error:
        text = f"The MCP server {connection.name} is not there: {error}. It is being started again."
        raise ToolFailure(text, code="MCP_SERVER_GONE") from None
    except TimeoutError:
        text = f"The MCP server {connection.name} took longer than {connection.server.timeout:g} seconds."
        raise ToolFailure(f"{text} The call may have taken effect.", code="TOOL_TIMEOUT") from None
    except Exception as error:
        raise ToolFailure(f"The MCP server {connection.name} refused the call: {error}", code="MCP_ERROR") from None
    content = tuple(_block(part, context) for part in result.content)
    if result.is_error:
        text = "\n".join(block.text for block in content if isinstance(block, Text))
        raise ToolFailure(text or "The tool failed and did not say why.", code="MCP_TOOL_ERROR")
    return ToolOutput(content or (Text(text="[no content]"),), _meta(result.structured_content))


def _block(part: Any, context: ToolContext) -> Block:
    match part.type:
        case "text":
            return Text(text=scrub(part.text))
        case "image" if context.blobs is not None:
            data = base64.b64decode(part.data)
            return Image(blob=context.blobs.put(data), media_type=part.mime_type)
        case "resource" if getattr(part.resource, "text", None) is not None:
            return Text(text=scrub(part.resource.text))
        case "resource_link":
            return Text(text=scrub(f"[{part.name}: {part.uri}]"))
        case kind:
            return Text(text=f"[{kind} content that cannot be shown here]")


def _meta(structured: object) -> JSONObject | None:
    try:
        encode(structured)
    except NotJSON:
        return None
    return {"structured": structured} if isinstance(structured, dict) else None
