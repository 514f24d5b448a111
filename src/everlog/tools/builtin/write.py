"""`write`: a whole file, new or in the place of one that the model has seen."""

from __future__ import annotations

import os

from everlog.session.jsonvalue import JSONObject, scrub
from everlog.tools.declare import tool
from everlog.tools.diffs import unified
from everlog.tools.files import digest, read_whole, replace_file, resolve, shown
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, Verdict, output
from everlog.tools.seen import file_meta, seen
from everlog.tools.textfile import read_text


def _probe(context: ToolContext, arguments: JSONObject) -> Verdict:
    """Tell by the content that stands there now: what was to be written, or what the model had seen before."""
    path = os.path.realpath(resolve(context, str(arguments["file_path"])))
    if not os.path.lexists(path):
        return "absent"
    try:
        now = digest(read_whole(resolve(context, path)))
    except ToolFailure:
        return "unknown"
    if now == digest(scrub(str(arguments["content"])).encode()):
        return "confirmed"
    return "absent" if now == seen(context.session, path) else "unknown"


@tool(effects="idempotent", timeout=120, paths=("file_path",), probe=_probe)
def write(context: ToolContext, file_path: str, content: str) -> ToolOutput:
    """Write a file: the whole of it, as UTF-8, exactly as given. Folders that are missing are made.

    A file that exists must have been read first, and must not have changed since.

    Args:
        file_path: The file, absolute or relative to the workspace.
        content: What the file is to hold.
    """
    path = resolve(context, file_path)
    name, real = shown(path, context), os.path.realpath(path)
    before = _current(context, real, name) if os.path.lexists(real) else None
    data = scrub(content).encode()
    replace_file(path, data)
    old = "" if before is None else before
    said = f"{'Created' if before is None else 'Replaced'} {name}: {len(data):,} bytes."
    return output(said, file_meta(real, digest(data), diff=unified(name, old, content), created=before is None))


def _current(context: ToolContext, real: str, name: str) -> str:
    """Give the text that a write would replace. Raises ToolFailure when the model has not seen it as it is."""
    data = read_whole(resolve(context, real))
    last = seen(context.session, real)
    if data and context.session is not None and last != digest(data):
        what = "has not been read in this session" if last is None else "has changed since it was last read"
        code = "FILE_NOT_READ" if last is None else "FILE_CHANGED"
        raise ToolFailure(f"{name} exists and {what}. Read it first, then write.", code=code)
    text = read_text(data)
    return "" if text is None else text.text
