"""Content of messages: their blocks as ours, binary content as blobs."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from everlog.interop.chronicle import Block, Chronicle, call_block, foreign_block, text_block

PROGRAM = "claude-code"
_LARGE = 16 * 1024


def blocks_of(told: Chronicle, content: object) -> list[Block]:
    """Give content, which is a text or a list of blocks, as our blocks; results of calls are left to the caller."""
    if isinstance(content, str):
        return [text_block(content)] if content else []
    if not isinstance(content, list):
        return [] if content is None else [foreign_block(PROGRAM, content)]
    return [_block(told, block) for block in content if not is_result(block)]


def is_result(block: object) -> bool:
    """Tell whether a block is the result of a call."""
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _block(told: Chronicle, block: Any) -> Block:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        rest = {key: value for key, value in block.items() if key != "thinking"}
        return {**rest, "type": "reasoning", "text": block["thinking"]}
    match block:
        case str():
            return text_block(block)
        case {"type": "text", "text": str(text)}:
            return {**block, **text_block(text)}
        case {"type": "tool_use", "id": id, "name": name, **rest}:
            return call_block(id, name, rest.get("input", {}))
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            found = decoded(data)
            if found is not None:
                return {"type": "image", "blob": told.blob(found), "mediaType": kind}
    told.remark("blocks of kinds without a name here")
    return foreign_block(PROGRAM, lightened(told, block))


def decoded(data: str) -> bytes | None:
    """Give what base64 text stands for; None when it is none."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def lightened(told: Chronicle, value: Any) -> Any:
    """Give a value with its large base64 texts as `{"blob": hash}`."""
    match value:
        case dict():
            return {key: lightened(told, item) for key, item in value.items()}
        case list():
            return [lightened(told, item) for item in value]
        case str() if len(value) > _LARGE and (found := decoded(value)) is not None:
            return {"blob": told.blob(found)}
        case _:
            return value
