"""Unified diffs for presentation, at a cost that stays small for large files."""

from __future__ import annotations

import difflib

MAX_LINES = 2_000
MAX_CHARACTERS = 200_000


def unified(name: str, before: str, after: str) -> str:
    """Give the unified diff of two texts, with three lines of context; cut, and said so, when it is very long."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lead = _shared(old, new)
    trail = _shared(old[lead:][::-1], new[lead:][::-1])
    start = max(0, lead - 3)
    old, new = old[start : len(old) - max(0, trail - 3)], new[start : len(new) - max(0, trail - 3)]
    if len(old) + len(new) > 2 * MAX_LINES:
        return f"--- {name}\n+++ {name}\n@@ about {len(old):,} lines became {len(new):,} @@\n"
    lines = list(difflib.unified_diff(old, new, name, name))
    text = "".join(_shifted(line, start) if line.startswith("@@") else _whole(line) for line in lines)
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "\n[... the rest is cut ...]\n"


def _shared(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _whole(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _shifted(header: str, by: int) -> str:
    """Give a hunk's header with its line numbers counted from the start of the file."""
    _, old, new, _ = header.split(" ", 3)

    def moved(part: str) -> str:
        start, _, length = part[1:].partition(",")
        first = int(start) + by
        return f"{part[0]}{first},{length}" if length else f"{part[0]}{first}"

    return f"@@ {moved(old)} {moved(new)} @@\n"
