"""What a list and a search show of events: titles, the first words, and the words that were said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from everlog.session.event import Event, read_event
from everlog.session.header import Header
from everlog.session.jsonvalue import scrub
from everlog.session.messages import Message, Text

PREVIEW_CHARACTERS = 100
_SEARCHED_CHARACTERS = 16_384
_AROUND = 60
_MARK_WITHIN = 40
"""An event's type stands so near to its beginning; anywhere else, the words are somebody's."""


def title_of(event: Event) -> str | None:
    """Give the title that a session/title event sets; None for any other event."""
    if event.type != "session/title":
        return None
    title = getattr(event.data, "title", None)
    return title if isinstance(title, str) else None


def preview_of(event: Event) -> str | None:
    """Give the beginning of what a person says in a user/message, on one line; None for any other event.

    Facts and instructions that a plugin told the model come before a person's words, and say nothing of the session.
    """
    if event.type != "user/message" or not isinstance(event.data, Message):
        return None
    if event.data.source.get("kind") == "plugin":
        return None
    return " ".join(event.data.text[: 4 * PREVIEW_CHARACTERS].split())[:PREVIEW_CHARACTERS] or None


def said_in(data: bytes) -> str:
    """Give the text that a search should find in an event: of its title or message; empty when there is none."""
    if b'"session/title"' not in data[:64] and b'"surfaceOp"' not in data:
        return ""
    try:
        event = read_event(data)
    except ValueError:
        return ""
    if event.type == "session/title":
        return title_of(event) or ""
    payload: Any = event.data
    message = payload if isinstance(payload, Message) else getattr(payload, "message", None)
    if not isinstance(message, Message) or message.role in ("system", "developer"):
        return ""
    return "\n".join(_texts(message))[:_SEARCHED_CHARACTERS]


def searched_from(header: Header) -> int:
    """Give the first seq that a search looks at: what a fork inherited is found in its parent.

    A session that was salvaged or imported names a parent too, which may be damaged, or not be here.
    """
    return header.inherited_events or 0 if header.origin == "fork" else 0


def _texts(message: Message) -> list[str]:
    result = message.result
    blocks = message.content if result is None else result.content
    return [block.text for block in blocks if isinstance(block, Text)]


def shown_in(blocks: Iterable[bytes]) -> tuple[str | None, str | None]:
    """Give the last title and the first words of a user in blocks of event lines, looking at such lines only."""
    title: str | None = None
    preview: str | None = None
    for block in blocks:
        for line in _lines_with(block, b'"type":"session/title"'):
            title = title_of(line) or title
        if preview is None:
            previews = (preview_of(line) for line in _lines_with(block, b'"type":"user/message"'))
            preview = next((found for found in previews if found), None)
    return title, preview


def _lines_with(block: bytes, mark: bytes) -> Iterator[Event]:
    """Give the events of lines that hold a mark near their beginning."""
    at = block.find(mark)
    while at >= 0:
        start = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        if at - start < _MARK_WITHIN:
            with suppress(ValueError):
                yield read_event(block[start : end if end >= 0 else len(block)])
        at = block.find(mark, end) if end >= 0 else -1


def words_of(text: str) -> list[str]:
    """Give the words of a query; what an index cannot hold parts words."""
    return scrub(text).replace("\0", " ").replace("\ufffd", " ").split()


def snippet(text: str, words: list[str]) -> str:
    """Give the text around the first of the words, on one line."""
    found = [at for word in words if (at := text.lower().find(word.lower())) >= 0]
    start = max(0, min(found, default=0) - _AROUND)
    piece = " ".join(text[start : start + 2 * _AROUND + 40].split())
    return ("…" if start else "") + piece


def holds_all(text: str, words: list[str]) -> bool:
    """Tell whether each of the words stands in the text, in capitals or not."""
    lower = text.lower()
    return all(re.search(re.escape(word.lower()), lower) for word in words)
