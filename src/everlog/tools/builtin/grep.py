"""`grep`: the lines that match a regular expression, found by ripgrep where there is one."""

from __future__ import annotations

from everlog.tools.declare import tool
from everlog.tools.files import quoted, resolve, shown
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, output
from everlog.tools.searching import Search, search

MAX_MATCHES = 500
MAX_LINE = 500
MARGIN = 300
"""How much more of a line is looked at than is shown, so that a secret at its edge is seen whole."""


@tool(effects="read-only", parallel_safe=True, timeout=120, paths=("path",))
async def grep(context: ToolContext, pattern: str, path: str = ".", glob: str | None = None) -> ToolOutput:
    """Search the contents of files for a regular expression; gives `path:line:text`, sorted by path.

    What .gitignore leaves out and binary files are left out. The expression matches within one line.

    Args:
        pattern: The regular expression, like `def \\w+` or `TODO`.
        path: The file or folder to search; the workspace if left out.
        glob: Search only files whose path matches this, like `*.py` or `src/**/*.{c,h}`.
    """
    root = resolve(context, path)
    if not (root.is_dir() or root.is_file()):
        raise ToolFailure(f"There is no file or folder {quoted(str(root))} to search.", code="FILE_NOT_FOUND")
    found = await search(Search(pattern, str(root), glob, MAX_MATCHES + 1, MAX_LINE + MARGIN))
    folder = root if root.is_dir() else root.parent
    lines = [
        f"{shown(folder / match.path, context)}:{match.line}:{_cut(context.redact(match.text))}"
        for match in found[:MAX_MATCHES]
    ]
    files = len({match.path for match in found[:MAX_MATCHES]})
    meta = {"matches": len(lines), "files": files, "complete": len(found) <= MAX_MATCHES}
    if not lines:
        return output("No lines match.", meta)  # type: ignore[arg-type]
    more = (
        [f"[the first {MAX_MATCHES:,} matches; there are more: narrow the search]"] if len(found) > MAX_MATCHES else []
    )
    return output("\n".join([*lines, *more]), meta)  # type: ignore[arg-type]


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} [... cut ...]"
