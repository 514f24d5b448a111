"""What `grep` runs where there is no ripgrep: `python -m everlog.tools.scanning MAX_LINE PATTERN ROOT [GLOB]`.

Writes `path NUL line:text` for each line that matches, sorted by path, as ripgrep does with the options of
`everlog.tools.searching`; exits with 1 when none does, and with 2 and a line on stderr for a bad expression.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from everlog.tools.patterns import Globs
from everlog.tools.textfile import read_text
from everlog.tools.walking import files_below

MAX_FILE_BYTES = 64_000_000


def main(max_line: int, pattern: str, root: str, globs: list[str]) -> int:
    """Print the matches and give the exit status."""
    try:
        expression, wanted = re.compile(pattern), Globs(globs) if globs else None
    except (re.error, ValueError) as error:
        print(f"not a valid expression: {error}", file=sys.stderr)
        return 2
    status = 1
    for path in _paths(root, wanted):
        for number, line in _matching(path, expression):
            text = line if len(line) <= max_line else f"{line[:max_line]} [... omitted end of long line]"
            sys.stdout.buffer.write(os.fsencode(path) + f"\0{number}:{text}\n".encode(errors="replace"))
            status = 0
    return status


def _paths(root: str, wanted: Globs | None) -> Iterator[str]:
    if os.path.isfile(root):
        yield root
        return
    for relative in files_below(Path(root).resolve()):
        if wanted is None or wanted.match(relative):
            yield os.path.join(root, relative)


def _matching(path: str, expression: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    try:
        if os.path.getsize(path) > MAX_FILE_BYTES:
            return
        text = read_text(Path(path).read_bytes())
    except OSError:
        return
    if text is None:
        return
    for number, line in enumerate(text.text.split("\n"), 1):
        if expression.search(line.removesuffix("\r")):
            yield number, line.removesuffix("\r")


if __name__ == "__main__":
    try:
        raise SystemExit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
    except BrokenPipeError:
        os._exit(1)
