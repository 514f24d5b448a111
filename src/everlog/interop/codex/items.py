"""Items of the Responses protocol, of which such a session is made, as our blocks."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from everlog.interop.chronicle import Block, Chronicle, call_block, foreign_block, text_block

PROGRAM = "codex"
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def blocks_of(told: Chronicle, content: object) -> list[Block]:
    """Give the content of a message or a result as our blocks."""
    if isinstance(content, str):
        return [text_block(content)] if content else []
    if not isinstance(content, list):
        return [] if content is None else [foreign_block(PROGRAM, content)]
    return [_block(told, block) for block in content]


def _block(told: Chronicle, block: object) -> Block:
    match block:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return text_block(text)
        case {"type": "input_image", "image_url": str(url)} if (found := image_of(told, url)) is not None:
            return found
    told.remark("blocks of kinds without a name here")
    return foreign_block(PROGRAM, block)


def image_of(told: Chronicle, url: str) -> Block | None:
    """Give the image that a data URL holds; None for another address."""
    match = _DATA_URL.fullmatch(url)
    if match is None:
        return None
    try:
        data = base64.b64decode(match[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return {"type": "image", "blob": told.blob(data), "mediaType": match[1]}


def said_by_model(item: dict[str, Any], told: Chronicle) -> list[Block] | None:
    """Give the blocks of an item that a model said; None for another item."""
    match item.get("type"):
        case "message" if item.get("role") == "assistant":
            return blocks_of(told, item.get("content"))
        case "reasoning":
            return _reasoning(item)
        case str(kind) if kind in _CALLS:
            id = item.get("call_id") or item.get("id")
            name = item.get("name") or ("local_shell" if kind == "local_shell_call" else "")
            return [call_block(id, name, item.get(_CALLS[kind], {}))]
        case "web_search_call" | "image_generation_call":
            return [foreign_block(PROGRAM, item)]
    return None


def _reasoning(item: dict[str, Any]) -> list[Block]:
    """Give what may be read of reasoning; what is sealed stays beside it."""
    found = []
    for part in [*_list(item.get("summary")), *_list(item.get("content"))]:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            found.append({"type": "reasoning", "text": part["text"]})
    return found


def result_of(item: dict[str, Any], told: Chronicle) -> tuple[str, list[Block], bool]:
    """Give the call that an output answers, what it says, and whether it tells of a failure."""
    output = item.get("output")
    failed = False
    if isinstance(output, dict):
        failed = output.get("success") is False
        output = output.get("content", output.get("output", ""))
    return str(item.get("call_id")), blocks_of(told, output), failed


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
