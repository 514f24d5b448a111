"""Content as both generations of OpenHands write it, as our blocks."""

from __future__ import annotations

from typing import Any

from everlog.interop.chronicle import Block, Chronicle, foreign_block, text_block
from everlog.interop.codex.items import image_of

PROGRAM = "openhands"


def blocks_of(told: Chronicle, content: object) -> list[Block]:
    """Give content, which is a text or a list of parts, as our blocks."""
    if isinstance(content, str):
        return [text_block(content)] if content else []
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return []
    return [block for part in content for block in _blocks(told, part)]


def _blocks(told: Chronicle, part: object) -> list[Block]:
    match part:
        case str():
            return [text_block(part)]
        case {"type": "text", "text": str(text)}:
            return [text_block(text)]
        case {"type": "image", "image_urls": list(urls)}:
            return images_of(told, urls)
    told.remark("blocks of kinds without a name here")
    return [foreign_block(PROGRAM, part)]


def images_of(told: Chronicle, urls: object) -> list[Block]:
    """Give images by their addresses; one that is no data URL stays an address."""
    found = []
    for url in urls if isinstance(urls, list) else []:
        image = image_of(told, url) if isinstance(url, str) else None
        if image is None:
            told.remark("images that are elsewhere")
            image = foreign_block(PROGRAM, {"type": "image", "url": url})
        found.append(image)
    return found


def usage_of(usage: object) -> dict[str, int] | None:
    """Give the usage that a provider's response tells, in the protocol of chat completions."""
    if not isinstance(usage, dict):
        return None
    cached = _count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    reasoning = _count(_dict(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    return {
        "inputTokens": max(_count(usage.get("prompt_tokens")) - cached, 0),
        "outputTokens": _count(usage.get("completion_tokens")),
        "cacheReadTokens": cached,
        "reasoningTokens": reasoning,
    }


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
