"""An MCP server without the SDK, which can do what a sound one never does: run as a script, on stdin and stdout.

With `odd` it tells of tools that are not as they should be, with `endless` its list never ends, with `brief` it ends
when it has told one, and with `mute` it answers nothing at all.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

PNG = b"\x89PNG\r\n\x1a\nnot really"
heard: list[str] = []
names = ["add", "die", "block", "wait", "grow", "heard", "contents", "huge", "refuse", "fail", "structured", "drop"]
names += ["reads", "looks_up", "environment", "half"]
HINTS = {"reads": {"readOnlyHint": True, "openWorldHint": False}, "looks_up": {"readOnlyHint": True}}


def write(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name: str, **more: Any) -> dict[str, Any]:
    plain = {"name": name, "description": f"Tool {name}.", "inputSchema": {"type": "object"}}
    return {**plain, **({"annotations": HINTS[name]} if name in HINTS else {}), **more}


ODD: list[Any] = [
    "not a tool",
    {"description": "nameless"},
    tool("fine"),
    tool("fine", description="a second one of the name"),
    tool("a.b/c d"),
    tool("a.b_c_d"),
    tool("x" * 100),
    tool("no-schema", inputSchema=None),
    tool("word", inputSchema="object"),
    tool("array", inputSchema={"type": "array", "items": {}}),
    tool("properties", inputSchema={"type": "object", "properties": ["a"], "required": [1]}),
    tool("either", inputSchema={"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": 1}}),
    tool("vast", inputSchema={"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(10_000)}}),
    tool("lone", description="half of a pair: \ud800"),
    tool("no-output", outputSchema={"type": "nonsense"}),
    tool("annotated", annotations="read-only"),
]

CONTENTS: list[Any] = [
    {"type": "text", "text": "a text"},
    {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"},
    {"type": "image", "data": base64.b64encode(b"<svg/>").decode(), "mimeType": "image/svg+xml"},
    {"type": "image", "data": "no base64!", "mimeType": "image/png"},
    {"type": "audio", "data": base64.b64encode(b"RIFF").decode(), "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "demo://text", "text": "of a resource"}},
    {"type": "resource", "resource": {"uri": "demo://pdf", "blob": base64.b64encode(b"%PDF-1.7 x").decode()}},
    {"type": "resource_link", "uri": "demo://link", "name": "elsewhere", "mimeType": "text/plain"},
    {"type": "from the future", "value": [1, 2]},
    "no part at all",
]


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Give the result of a call; None answers nothing."""
    made: dict[str, Callable[[], dict[str, Any] | None]] = {
        "add": lambda: text(str(arguments["a"] + arguments["b"])),
        "die": die,
        "block": block,
        "wait": lambda: None,
        "grow": grow,
        "drop": drop,
        "environment": lambda: text(" ".join(os.environ)),
        "heard": lambda: text(" ".join(heard)),
        "contents": lambda: {"content": CONTENTS},
        "half": lambda: text("half of a pair: \ud800."),
        "huge": lambda: text("x" * 300_000),
        "fail": lambda: {"content": [CONTENTS[0], CONTENTS[1]], "isError": True},
        "structured": lambda: {"content": [], "structuredContent": {"celsius": 21.5}},
        "no-output": lambda: {"content": [CONTENTS[0]], "structuredContent": {"any": "thing"}},
    }
    return made.get(name, lambda: text(f"{name} was called"))()


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def die() -> None:
    print("dying on purpose", file=sys.stderr, flush=True)
    os._exit(3)


def block() -> None:
    time.sleep(3600)


def grow() -> dict[str, Any]:
    names.append("extra")
    write({"method": "notifications/tools/list_changed"})
    return text("grown")


def drop() -> dict[str, Any]:
    names.remove("add")
    write({"method": "notifications/tools/list_changed"})
    return text("dropped")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            print("this line is no message", flush=True)
            version = params["protocolVersion"]
            return {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "b", "version": "1"},
            }
        case "tools/list" if "odd" in sys.argv:
            return {"tools": ODD}
        case "tools/list" if "endless" in sys.argv:
            page = int(params.get("cursor") or 0)
            return {"tools": [tool(f"page-{page}")], "nextCursor": str(page + 1)}
        case "tools/list":
            at = int(params.get("cursor") or 0)
            return {
                "tools": [tool(name) for name in names[at : at + 5]],
                **({"nextCursor": str(at + 5)} if names[at + 5 :] else {}),
            }
        case "tools/call":
            return call(params["name"], params.get("arguments") or {})
        case _:
            return {}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method", ""), message.get("params") or {}
        heard.append(method)
        if "id" not in message or "mute" in sys.argv:
            continue
        result = None
        if params.get("name") == "refuse":
            write({"id": message["id"], "error": {"code": -32000, "message": "not today"}})
        elif (result := answer(method, params)) is not None:
            write({"id": message["id"], "result": result})
        if method == "tools/list" and "brief" in sys.argv and "nextCursor" not in (result or {}):
            return


if __name__ == "__main__":
    main()
