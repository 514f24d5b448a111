"""`glob`: the files whose path matches a pattern."""

from __future__ import annotations

from everlog.tools.declare import tool
from everlog.tools.files import quoted, resolve, shown
from everlog.tools.patterns import Globs
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, output
from everlog.tools.walking import files_below

MAX_FILES = 1_000


@tool(effects="read-only", parallel_safe=True, timeout=60, paths=("path",))
def glob(context: ToolContext, pattern: str, path: str = ".") -> ToolOutput:
    """List the files whose path matches a pattern, like `**/*.py`, `src/*.{c,h}` or `test_*`.

    A pattern without a slash matches names at any depth. What .gitignore leaves out is left out. Sorted by path.

    Args:
        pattern: What the path, relative to the folder, must match.
        path: The folder to look in; the workspace if left out.
    """
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise ToolFailure("The pattern is relative to the folder; give the folder as `path`.", code="PATTERN_INVALID")
    root = resolve(context, path)
    if not root.is_dir():
        raise ToolFailure(f"There is no folder {quoted(str(root))}.", code="FILE_NOT_FOUND")
    try:
        wanted = Globs([pattern])
    except ValueError as error:
        raise ToolFailure(f"The pattern cannot be used: {error}.", code="PATTERN_INVALID") from None
    found: list[str] = []
    total = 0
    for relative in files_below(root, context.cancelled):
        if wanted.match(relative):
            total += 1
            if total <= MAX_FILES:
                found.append(shown(root / relative, context))
    if not total:
        return output("No files match.", {"files": 0})
    more = [f"[{total - MAX_FILES:,} more files; narrow the pattern]"] if total > MAX_FILES else []
    return output("\n".join([*found, *more]), {"files": total})
