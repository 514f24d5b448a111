"""Telling whether a text came from another, of which only the digest is known, by a given replacement."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from everlog.tools.replacing import spans
from everlog.tools.textfile import TextFile

MAX_WORK = 400_000_000
"""How many bytes are hashed at most before the answer is no."""


def came_from(now: TextFile, old: str, new: str, every: bool, sha256: str) -> bool:
    """Tell whether putting `old` back for `new`, somewhere or everywhere, gives a file with this digest.

    No false yes. A false no where the text was changed elsewhere too, or where there are too many places to try.
    """
    work = 0
    for text in _earlier(now.text, old, new, every):
        try:
            data = now.encode(text)
        except UnicodeEncodeError:
            return False
        if hashlib.sha256(data).hexdigest() == sha256:
            return True
        work += len(data)
        if work > MAX_WORK:
            return False
    return False


def _earlier(text: str, old: str, new: str, every: bool) -> Iterator[str]:
    """Give the texts that the edit may have started from; with either kind of line ending in what it took out."""
    for before in dict.fromkeys((old, old.replace("\r\n", "\n").replace("\n", "\r\n"))):
        if new:
            places = spans(text, new, "\r" in old or "\r" in new)
        else:
            places = [] if every else [(at, at) for at in range(len(text) + 1)]
        if every and places:
            parts, end = [], 0
            for start, stop in places:
                parts += [text[end:start], before]
                end = stop
            yield "".join([*parts, text[end:]])
        elif not every:
            for start, stop in places:
                yield text[:start] + before + text[stop:]
