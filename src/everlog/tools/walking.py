"""Walking a folder as Git sees it: what .gitignore leaves out is left out, and symlinks are not followed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from everlog.tools.patterns import PatternList
from everlog.tools.seam import ToolFailure

MAX_IGNORE_BYTES = 1_000_000


@dataclass(frozen=True)
class _Ignore:
    """The rules of one file, which hold below its folder."""

    folder: str
    patterns: PatternList


def files_below(root: Path, stop: threading.Event | None = None) -> Iterator[str]:
    """Give the regular files below a folder, sorted, as relative paths with slashes.

    Left out are `.git`, what .gitignore files there and above up to the repository's root leave out, what
    `.git/info/exclude` leaves out, and everything that is neither a folder nor a regular file. Raises ToolFailure
    when `stop` is set.
    """
    waiting = [_level(str(root), _above(root))]
    while waiting:
        ignores, entries = waiting[-1]
        entry = next(entries, None)
        if entry is None:
            waiting.pop()
            continue
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or _ignored(entry.path, is_folder, ignores):
                continue
            if is_folder:
                if stop is not None and stop.is_set():
                    raise ToolFailure("The search was stopped.", code="TOOL_CANCELLED")
                waiting.append(_level(entry.path, ignores))
            elif entry.is_file(follow_symlinks=False):
                yield os.path.relpath(entry.path, root).replace(os.sep, "/")
        except OSError:
            continue


def _level(folder: str, above: list[_Ignore]) -> tuple[list[_Ignore], Iterator[os.DirEntry[str]]]:
    """Give the rules that hold in a folder, and what stands in it; levels are kept in a list, as they go very deep."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        entries = []
    return above + _rules_in(folder), iter(entries)


class LeftOut:
    """Tells of single paths below a folder whether `files_below` passes over them for the sake of ignore rules."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._rules: dict[str, list[_Ignore] | None] = {"": _above(root) + _rules_in(self._root)}

    def __call__(self, relative: str) -> bool:
        """Tell it of a file, by its path with slashes."""
        rules = self._rules_for(os.path.dirname(relative))
        return rules is None or _ignored(os.path.join(self._root, relative), False, rules)

    def _rules_for(self, folder: str) -> list[_Ignore] | None:
        """Give the rules that hold in a folder; None when it is left out itself."""
        unknown: list[str] = []
        while folder not in self._rules:
            unknown.append(folder)
            folder = os.path.dirname(folder)
        rules = self._rules[folder]
        for below in reversed(unknown):
            path = os.path.join(self._root, below)
            left_out = rules is None or _ignored(path, True, rules)
            rules = self._rules[below] = None if left_out or rules is None else rules + _rules_in(path)
        return rules


def _ignored(path: str, is_folder: bool, ignores: list[_Ignore]) -> bool:
    """Tell whether the rules leave a path out: the innermost file that says anything of it decides."""
    for ignore in reversed(ignores):
        relative = os.path.relpath(path, ignore.folder).replace(os.sep, "/")
        found = ignore.patterns.verdict(relative, is_folder)
        if found is not None:
            return found
    return False


def _rules_in(folder: str) -> list[_Ignore]:
    return _rules_of(os.path.join(folder, ".gitignore"), folder)


def _rules_of(file: str, folder: str) -> list[_Ignore]:
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > MAX_IGNORE_BYTES:
            return []
        with open(file, encoding="latin-1", newline="") as lines:
            return [_Ignore(folder, PatternList(line.removesuffix("\r") for line in lines.read().split("\n")))]
    except OSError:
        return []


def _above(root: Path) -> list[_Ignore]:
    """Give the rules from the repository's root down to the folder above; none where there is no repository."""
    above = [root, *root.parents]
    repository = next((folder for folder in above if (folder / ".git").exists()), None)
    if repository is None:
        return []
    ignores = _rules_of(str(repository / ".git" / "info" / "exclude"), str(repository))
    for folder in reversed(above[1 : above.index(repository) + 1]):
        ignores += _rules_in(str(folder))
    # A folder that is asked for by name is searched, even when the rules above leave it out.
    return [] if _left_out(root, repository, ignores) else ignores


def _left_out(root: Path, repository: Path, ignores: list[_Ignore]) -> bool:
    return root != repository and any(
        _ignored(str(folder), True, ignores)
        for folder in (root, *root.parents)
        if folder.is_relative_to(repository) and folder != repository
    )
