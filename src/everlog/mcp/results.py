"""What a server gave for a call, as the output of a tool: text and images for the model, all else kept as blobs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from everlog.session.jsonvalue import JSON, JSONObject, NotJSON, encode, scrub_json
from everlog.session.messages import Block, File, Image, Text
from everlog.session.payloads import ToolError
from everlog.tools.seam import Blobs, ToolOutput
from everlog.tools.textfile import image_type

MAX_SHOWN_BYTES = 5_000_000
"""How large an image or a document may be for a model to see it; a larger one is kept as a blob and told of."""


def output_of(result: JSONObject, blobs: Blobs | None) -> ToolOutput:
    """Give the output of a result; one that says `isError` is a failure with all its content."""
    safe = scrub_json(result)
    assert isinstance(safe, dict)
    content = safe.get("content")
    blocks = [block for part in (content if isinstance(content, list) else []) for block in _blocks(part, blobs)]
    structured = safe.get("structuredContent")
    if not blocks and structured is not None:
        blocks = [Text(text=_text_of(structured))]
    error = ToolError(name="McpToolError", code="MCP_TOOL_ERROR") if safe.get("isError") is True else None
    empty = Text(text="[the tool failed and did not say why]" if error else "[no content]")
    return ToolOutput(tuple(blocks) or (empty,), _meta(structured), error)


def _blocks(part: JSON, blobs: Blobs | None) -> Iterator[Block]:
    """Give the blocks of one part of the content, whatever it is."""
    match part:
        case {"type": "text", "text": str(text)}:
            yield Text(text=text)
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            yield _medium(data, _word(part, "mimeType") or "application/octet-stream", kind, blobs)
        case {"type": "resource", "resource": {"text": str(text)} as resource}:
            yield Text(text=f"[{_word(resource, 'uri') or 'resource'}]\n{text}")
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            media_type = _word(resource, "mimeType") or "application/octet-stream"
            yield _medium(data, media_type, _word(resource, "uri") or "resource", blobs)
        case {"type": "resource_link", "uri": str(uri)}:
            words = [_word(part, key) for key in ("title", "name", "description", "mimeType")]
            yield Text(text=f"[link to {uri}: {', '.join(word for word in words if word) or 'a resource'}]")
        case _:
            yield Text(text=_text_of(part))


def _medium(data: str, media_type: str, name: str, blobs: Blobs | None) -> Block:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Text(text=f"[{name} ({media_type}): what the server sent is not base64]")
    if blobs is None:
        return Text(text=f"[{name} ({media_type}, {len(content):,} bytes): nothing here keeps blobs]")
    blob = blobs.put(content)
    seen = image_type(content)  # a server's word for it is not enough: providers refuse a request with a wrong one
    if len(content) <= MAX_SHOWN_BYTES:
        if seen is not None:
            return Image(blob=blob, media_type=seen)
        if content.startswith(b"%PDF-"):
            return File(blob=blob, name=name, media_type="application/pdf")
    return Text(text=f"[{name} ({media_type}, {len(content):,} bytes): kept as blob:{blob}]")


def _word(part: JSON, key: str) -> str:
    value = part.get(key) if isinstance(part, dict) else None
    return value if isinstance(value, str) else ""


def _text_of(value: JSON) -> str:
    try:
        return encode(value).decode()
    except NotJSON:
        return str(value)


def _meta(structured: JSON) -> JSONObject | None:
    """Give the structured content for programs; none where JSON cannot hold it."""
    try:
        encode(structured)
    except NotJSON:
        return None
    return None if structured is None else {"structured": structured}
