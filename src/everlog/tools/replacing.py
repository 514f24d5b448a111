"""Replacing text within text, with line endings kept.

A model writes line feeds. Where neither piece holds a carriage return, both are matched without regard to how
lines end, and what is put in ends its lines as the place does. Where one does, the match is to the letter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Replaced:
    """What a replacement gave: the new text, how often, and the lines (from 1) where it happened."""

    text: str
    count: int
    lines: tuple[int, ...]


def spans(text: str, old: str, literal: bool) -> list[tuple[int, int]]:
    """Give where `old` stands in a text, without overlaps."""
    if literal or "\n" not in old:
        pattern = re.escape(old)
    else:
        pattern = r"\r?\n".join(re.escape(line) for line in old.split("\n"))
    return [match.span() for match in re.finditer(pattern, text)]


def replaced(text: str, old: str, new: str) -> Replaced:
    """Put `new` in the place of every `old`."""
    literal = "\r" in old or "\r" in new
    parts: list[str] = []
    lines: list[int] = []
    end = line = 0
    for start, stop in spans(text, old, literal):
        parts += [text[end:start], new if literal else _with_endings_of(text, start, stop, new)]
        line += text.count("\n", end, start)
        lines.append(line + 1)
        line += text.count("\n", start, stop)
        end = stop
    return Replaced("".join([*parts, text[end:]]), len(lines), tuple(lines))


def _with_endings_of(text: str, start: int, stop: int, new: str) -> str:
    if "\n" not in new or "\r\n" not in text:
        return new
    return new.replace("\n", _ending_at(text, start, stop))


def _ending_at(text: str, start: int, stop: int) -> str:
    """Give how lines end in a span: most of its own, else the line that it stands in, else the line before it."""
    feeds, both = text.count("\n", start, stop), text.count("\r\n", start, stop)
    if feeds:
        return "\r\n" if 2 * both >= feeds else "\n"
    at = text.find("\n", stop)
    if at < 0:
        at = text.rfind("\n", 0, start)
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
