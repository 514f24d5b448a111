"""`write`: a whole file, new or in the place of one that the model has seen."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from everlog.session.jsonvalue import JSONObject, scrub
from everlog.tools.declare import tool
from everlog.tools.diffs import unified
from everlog.tools.files import digest, read_whole, replace_file, resolve, shown
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, Verdict, output
from everlog.tools.seen import file_meta, seen
from everlog.tools.textfile import read_text
from everlog.tools.threads import in_thread


async def _probe(context: ToolContext, arguments: JSONObject) -> Verdict:
    """Tell by the content that stands there now: what was to be written, or what the model had seen before."""
    path = os.path.realpath(resolve(context, str(arguments["file_path"])))
    if not os.path.lexists(path):
        return "absent"
    try:
        now = digest(await in_thread(partial(read_whole, Path(path))))
    except ToolFailure:
        return "unknown"
    if now == digest(scrub(str(arguments["content"])).encode()):
        return "confirmed"
    return "absent" if now == seen(context.session, path) else "unknown"


@tool(effects="idempotent", timeout=120, paths=("file_path",), probe=_probe)
async def write(context: ToolContext, file_path: str, content: str) -> ToolOutput:
    """Write a file: the whole of it, as UTF-8, exactly as given. Folders that are missing are made.

    A file that exists must have been read first, and must not have changed since.

    Args:
        file_path: The file, absolute or relative to the workspace.
        content: What the file is to hold.
    """
    path = resolve(context, file_path)
    last = seen(context.session, os.path.realpath(path))
    free = context.session is None  # outside a session nothing is known to have been read
    return await in_thread(partial(_write, path, shown(path, context), scrub(content), last, free))


def _write(path: Path, name: str, content: str, last: str | None, free: bool) -> ToolOutput:
    real = Path(os.path.realpath(path))
    before = read_whole(real) if os.path.lexists(real) else None
    if before and not free and last != digest(before):
        what = "has not been read in this session" if last is None else "has changed since it was last read"
        code = "FILE_NOT_READ" if last is None else "FILE_CHANGED"
        raise ToolFailure(f"{name} exists and {what}. Read it first, then write.", code=code)
    data = content.encode()
    replace_file(real, data)
    old = read_text(before or b"")
    diff = unified(name, old.text if old is not None else "", content)
    said = f"{'Created' if before is None else 'Replaced'} {name}: {len(data):,} bytes."
    return output(said, file_meta(str(real), digest(data), diff=diff, created=before is None))
