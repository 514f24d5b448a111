"""Glob patterns for paths, with the meaning that ripgrep's `--glob` has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pathspec import GitIgnoreSpec

_BRACES = re.compile(r"\{([^{}]*)\}")


class Globs:
    """A set of patterns: a path matches when one of them fits and no later one that begins with `!` does.

    `*` and `?` stop at a slash, `**` does not, `[...]` is a class, `{a,b}` are alternatives. A pattern without a
    slash fits the name of a file at any depth, or of a folder and with it all that the folder holds.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._only_excludes = all(pattern.startswith("!") for pattern in patterns)
        plain = [one for pattern in patterns for one in _alternatives(pattern.removeprefix("./"))]
        self._spec = GitIgnoreSpec.from_lines(plain)

    def match(self, path: str) -> bool:
        """Tell whether a path, relative and with slashes, matches."""
        found = self._spec.check_file(path).include
        return found if found is not None else self._only_excludes


def _alternatives(pattern: str) -> Iterator[str]:
    """Give the patterns that one with braces stands for; innermost braces first."""
    braces = _BRACES.search(pattern)
    if braces is None:
        yield pattern
        return
    for option in braces[1].split(","):
        yield from _alternatives(pattern[: braces.start()] + option + pattern[braces.end() :])
