"""Outside text made harmless for a terminal.

What a model, a tool, a file or a stored session says may hold escapes that move the cursor, set the title,
or reorder the line (bidirectional overrides). Here they become visible characters. Tabs and newlines stay.
"""

from __future__ import annotations

import re

_PICTURES = {code: chr(0x2400 + code) for code in range(32) if code not in (0x09, 0x0A)} | {0x7F: "\u2421"}
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST_WORD = 400
_LONGEST_ERROR = 1_200
_IN_JSON = re.compile("[\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Give the text with control characters as pictures (`␛`), and other harmful ones as `\\u` escapes."""
    return _HARMFUL.sub(_visible, text.replace("\r\n", "\n"))


def one_line(text: str, width: int = 0) -> str:
    """Give the text on one line, its white space joined; cut to `width` characters with an ellipsis if that is > 0."""
    joined = harmless(" ".join(text.split()))
    return joined if width <= 0 or len(joined) <= width else joined[: max(0, width - 1)] + "…"


def error_line(text: str) -> str:
    """Give an error on one line. What somebody gave is repeated in it: of what is very long the middle is left out."""
    words = (_cut(word, _LONGEST_WORD) for word in one_line(text).split(" "))
    return _cut(" ".join(words), _LONGEST_ERROR)


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 4
    return f"{text[:head]}…({len(text) - head - tail:,} characters left out)…{text[-tail:]}"


def harmless_json(text: str) -> str:
    """Give JSON text of an equal value, in which what a terminal might act upon is escaped."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _PICTURES.get(code) or f"\\u{code:04x}"
