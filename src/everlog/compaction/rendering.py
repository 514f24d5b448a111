"""A run of messages as plain text: for a model that was not part of the conversation, and for the template."""

from __future__ import annotations

from collections.abc import Iterable

from everlog.session.messages import Block, File, Image, Message, PluginSource, Reasoning, Text, ToolCall, ToolResult


def rendered(messages: Iterable[Message], characters: int) -> str:
    """Give messages under headings of who speaks, in no more than about so many characters.

    Where it would be more, each message loses its middle, long ones first.
    """
    parts = [(heading(message), text_of(message.content)) for message in messages]
    allowed = _share([len(text) for _, text in parts], max(0, characters - 20 * len(parts)))
    return "\n\n".join(f"[{head}]\n{clipped(text, allowed)}" for head, text in parts if text)


def _share(lengths: list[int], characters: int) -> int:
    """Give the length that every message may have, so that all together come to the given number of characters."""
    left, count = characters, len(lengths)
    for length in sorted(lengths):
        if length * count > left:
            break
        left, count = left - length, count - 1
    return left // count if count else max(lengths, default=0)


def clipped(text: str, characters: int) -> str:
    """Give a text without its middle when it is longer than that."""
    if len(text) <= characters:
        return text
    head, tail = characters * 2 // 3, characters // 3
    return f"{text[:head]} [… {len(text) - head - tail:,} characters …] {text[len(text) - tail :]}"


def heading(message: Message) -> str:
    """Give who speaks."""
    if message.result is not None:
        return "result"
    if message.role == "user" and isinstance(message.source, PluginSource):
        return f"note by {message.source.plugin}"
    return {"user": "person", "assistant": "agent"}.get(message.role, message.role)


def text_of(blocks: Iterable[Block]) -> str:
    """Give what blocks say; reasoning is left out, as it is no result of the work."""
    return "\n".join(text for block in blocks if (text := _said(block)))


def _said(block: Block) -> str:
    match block:
        case Text():
            return block.text
        case Reasoning():
            return ""
        case ToolCall():
            return f"calls {block.name} {block.arguments}"
        case ToolResult():
            return text_of(block.content)
        case Image() | File():
            return f"(an image or a file of type {block.media_type})"
        case _:
            return block.to_json().decode("utf-8", "replace")
