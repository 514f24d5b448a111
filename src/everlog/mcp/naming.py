"""Names and schemas that every provider takes, made of what servers tell."""

from __future__ import annotations

import hashlib
import re

from everlog.session.jsonvalue import JSON, JSONObject, NotJSON, encode, scrub_json

_LONGEST = 64
_PLAIN = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_ALTERNATIVES = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref")
_MOST_SCHEMA_BYTES = 100_000


def tool_name(server: str, tool: str) -> str:
    """Give the name that a model calls a server's tool by: `mcp__SERVER__TOOL`.

    Providers take 64 characters out of few. Where that, or an underscore that could belong to either part, would make
    two tools the same, the name ends in a digest of both parts: equal names mean the same tool of the same server.
    """
    name = f"mcp__{server}__{tool}"
    if len(name) <= _LONGEST and _PLAIN.fullmatch(server) and _PLAIN.fullmatch(tool):
        return name
    digest = hashlib.sha256(encode([server, tool])).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', name)[: _LONGEST - 9]}_{digest}"


def parameters(schema: JSON) -> tuple[JSONObject, str]:
    """Give a schema that providers take, and words for the description about what it leaves out.

    Providers ask for an object with properties, and refuse alternatives at the top, and with it the whole request. What
    is no schema at all becomes one that takes any object: the server checks its arguments itself.
    """
    anything: JSONObject = {"type": "object", "properties": {}}
    given = scrub_json(schema)
    if not isinstance(given, dict):
        return anything, ""
    try:
        size = len(encode(given))
    except NotJSON:
        return anything, ""
    if size > _MOST_SCHEMA_BYTES:
        return anything, f"\n\n(The schema of its arguments is left out: it has {size:,} bytes.)"
    left_out = {key: given[key] for key in _ALTERNATIVES if key in given}
    kept = {key: value for key, value in given.items() if key not in left_out}
    made: JSONObject = {**kept, "type": "object", "properties": _properties(given.get("properties"))}
    required = made.pop("required", None)
    if isinstance(required, list) and all(isinstance(name, str) for name in required):
        made["required"] = required
    words = f"\n\nThe arguments must fit this JSON schema, too: {encode(left_out).decode()}" if left_out else ""
    return made, words


def _properties(given: JSON) -> JSONObject:
    if not isinstance(given, dict):
        return {}
    return {name: schema if isinstance(schema, dict) else {} for name, schema in given.items()}
