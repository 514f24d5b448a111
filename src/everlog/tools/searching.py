"""Searching files for a regular expression, in a process of its own that can be ended.

Ripgrep does it where it is installed. Elsewhere `everlog.tools.scanning` does, with Python's expressions; it is a
process too, because a regular expression can take for ever and holds the interpreter while it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from everlog.tools.seam import ToolFailure
from everlog.tools.walking import LeftOut


@dataclass(frozen=True)
class Search:
    """What to look for: an expression, below a folder or in a file, in paths that match a glob."""

    pattern: str
    root: str
    glob: str | None
    max_matches: int
    max_line: int


@dataclass(frozen=True)
class Match:
    """One line that matches; `path` is relative to the root, or to the folder of a root that is a file."""

    path: str
    line: int
    text: str


async def search(wanted: Search) -> list[Match]:
    """Give the first matches, by path and line. Raises ToolFailure when the expression or the glob is not valid."""
    by_ripgrep = _ripgrep(wanted)
    command = by_ripgrep or _scan(wanted)
    folder = wanted.root if os.path.isdir(wanted.root) else os.path.dirname(wanted.root)
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,  # what globs are relative to
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        complaints = asyncio.create_task(process.stderr.read(10_000))
        found = [match async for match in _matches(process.stdout, wanted, _dropped(wanted) if by_ripgrep else None)]
        if len(found) < wanted.max_matches and await process.wait() > 1:
            said = (await complaints).decode(errors="replace").strip()
            if said and not found:  # a file that cannot be read is passed over without a word
                raise ToolFailure(f"The search failed: {said}", code="PATTERN_INVALID")
        complaints.cancel()
        return found
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())


def ripgrep() -> str | None:
    """Give the path of ripgrep, on PATH or beside the interpreter (where pip puts it), or None."""
    return shutil.which("rg") or shutil.which("rg", path=os.path.dirname(sys.executable))


def _ripgrep(wanted: Search) -> list[str] | None:
    program = ripgrep()
    if program is None:
        return None
    command = [program, "--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--null"]
    command += ["--line-number", "--sort=path", "--hidden", "--no-ignore-global", "--no-ignore-dot"]
    command += ["--no-require-git", f"--max-columns={wanted.max_line}", "--max-columns-preview", "--no-follow"]
    if wanted.glob:
        command.append(f"--glob={wanted.glob}")
    command.append("--glob=!.git")  # behind the other, which would bring it back: the last that fits decides
    return [*command, "--regexp", wanted.pattern, "--", _below(wanted)]


def _below(wanted: Search) -> str:
    """Give what to search, as seen from its folder."""
    return "." if os.path.isdir(wanted.root) else os.path.join(".", os.path.basename(wanted.root))


def _scan(wanted: Search) -> list[str]:
    glob = [wanted.glob] if wanted.glob else []
    # -P: the folder that is searched is the current one, and none of its modules may be imported.
    return [
        sys.executable,
        "-P",
        "-m",
        "everlog.tools.scanning",
        str(wanted.max_line),
        wanted.pattern,
        _below(wanted),
        *glob,
    ]


def _dropped(wanted: Search) -> LeftOut | None:
    """Tell which matches of ripgrep do not count: a glob has it search what .gitignore leaves out, too."""
    return LeftOut(Path(wanted.root)) if wanted.glob and os.path.isdir(wanted.root) else None


async def _matches(lines: asyncio.StreamReader, wanted: Search, left_out: LeftOut | None) -> AsyncIterator[Match]:
    """Read `path NUL line:text` lines, but for those of files that are left out."""
    count = 0
    while count < wanted.max_matches:
        try:
            path = (await lines.readuntil(b"\0"))[:-1]
            rest = (await lines.readuntil(b"\n"))[:-1]
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        number, _, text = rest.partition(b":")
        name = os.fsdecode(path).replace(os.sep, "/").removeprefix("./")
        if left_out is not None and left_out(name):
            continue
        shown = os.fsencode(name).decode(errors="replace")
        yield Match(shown, int(number), text.decode(errors="replace").removesuffix("\r"))
        count += 1
