"""Path patterns with the meaning that Git and ripgrep give them, on `pathspec`'s translation to regular expressions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from pathspec import GitIgnoreSpec

_BRACES = re.compile(r"\{([^{}]*)\}")
_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_MARK = "ps_d"
"""The group by which `pathspec` marks where a pattern matched a folder of the path, and not its end."""

MAX_ALTERNATIVES = 1_000
"""How many patterns one with braces may stand for: each pair of braces multiplies them."""


class PatternList:
    """Patterns of which the last that fits decides. Lines are as in .gitignore; what Git cannot read is passed over."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._patterns = [pattern for line in lines for pattern in _compiled(line)]
        self._patterns.reverse()

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Tell what the patterns say of this very path: it fits (True), it fits one with `!` (False), nothing (None).

        A pattern that fits a folder above says nothing of the path: who walks a tree has asked about that before.
        """
        text = _as_bytes(path)
        return next((fits for regex, fits in self._patterns if _is_exact(regex, text, is_folder)), None)


def _compiled(line: str) -> Iterator[tuple[re.Pattern[str], bool]]:
    try:
        found = GitIgnoreSpec.from_lines([line]).patterns
    except ValueError:
        return
    for pattern in found:
        if pattern.include is not None and pattern.regex is not None:
            yield re.compile(_bounded(pattern.regex.pattern)), pattern.include


def _bounded(regex: str) -> str:
    """Give an expression of `pathspec`'s that means the same and never tries again what cannot help.

    Each `*` but the last of a name, and each `**` but the last, takes the first place where what follows it fits: the
    next one can take everything else. Without that a repository's `*a*a*a*a*a*b` holds the process for years. A class
    like `[!a]` fits no slash.
    """
    regex = _CLASS.sub(lambda found: re.sub(r"^\[\^(?!/\])", "[^/", found[0]), regex)
    first, *rest = re.split(r"\(\?:/\.\+\)\?", regex)
    if not rest:
        return _bounded_names(regex)
    inner = [_bounded_names(piece) for piece in rest[:-1]]
    head = _bounded_names(first).replace("(?:.+/)?", "(?:.+?/)??", 1)
    return "".join([f"(?>{head}(?=/))", *(f"(?>(?:/.+?)??{piece}(?=/))" for piece in inner)]) + (
        "(?:/.+)?" + _bounded_names(rest[-1])
    )


def _bounded_names(regex: str) -> str:
    first, *rest = regex.split("[^/]*")
    if not rest:
        return regex
    return "".join([first, *(f"(?>[^/]*?{piece})" for piece in rest[:-1] if piece), "[^/]*", rest[-1]])


def _is_exact(regex: re.Pattern[str], path: str, is_folder: bool) -> bool:
    if _MARK not in regex.groupindex:
        return regex.match(path) is not None
    text = path + "/" if is_folder else path
    found = regex.match(text)
    return found is not None and found.end(_MARK) in (-1, len(text))


def _as_bytes(text: str) -> str:
    """Give a text with a character for each of its bytes, which is what `?` stands for."""
    return os.fsencode(text).decode("latin-1")


class Globs:
    """Globs as of ripgrep's `--glob`: a path matches when one fits, unless a later one with `!` does.

    `*` and `?` stop at a slash, `**` does not, `[...]` is a class, `{a,b}` are alternatives. A pattern without a
    slash fits a name at any depth. One with `!` that fits a folder leaves out all that is in it.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        """Raises ValueError for a glob that stands for too many patterns."""
        self._only_excludes = all(glob.startswith("!") for glob in globs)
        self._patterns = PatternList(_as_bytes(one) for glob in globs for one in _alternatives(glob.removeprefix("./")))

    def match(self, path: str) -> bool:
        """Tell whether the path of a file, relative and with slashes, matches."""
        parts = path.split("/")
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        if any(self._patterns.verdict(folder, True) is False for folder in folders):
            return False
        found = self._patterns.verdict(path, False)
        return found if found is not None else self._only_excludes


def _alternatives(pattern: str) -> list[str]:
    """Give the patterns that one with braces stands for; innermost braces first. Raises ValueError for too many."""
    found = [pattern]
    while any(map(_BRACES.search, found)):
        found = [option for one in found for option in _options(one)]
        if len(found) > MAX_ALTERNATIVES:
            raise ValueError(f"the braces stand for more than {MAX_ALTERNATIVES:,} patterns")
    return found


def _options(pattern: str) -> list[str]:
    braces = _BRACES.search(pattern)
    if braces is None:
        return [pattern]
    return [pattern[: braces.start()] + option + pattern[braces.end() :] for option in braces[1].split(",")]
