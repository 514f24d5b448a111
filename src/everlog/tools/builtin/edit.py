"""`edit`: one piece of text in a file for another; everything else of the file stays as it is, to the byte."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from everlog.session.jsonvalue import JSONObject, scrub
from everlog.tools.declare import tool
from everlog.tools.diffs import unified
from everlog.tools.files import digest, read_whole, replace_file, resolve, shown
from everlog.tools.replacing import Replaced, replaced
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, Verdict, output
from everlog.tools.seen import file_meta, seen
from everlog.tools.textfile import TextFile, read_text
from everlog.tools.threads import in_thread
from everlog.tools.undoing import came_from

MAX_PLACES = 10


async def _probe(context: ToolContext, arguments: JSONObject) -> Verdict:
    """Tell by content hash: the file as the model had seen it, or one that the edit makes of that."""
    path = os.path.realpath(resolve(context, str(arguments["file_path"])))
    before = seen(context.session, path)
    if before is None:
        return "unknown"
    try:
        return await in_thread(partial(_compared, Path(path), arguments, before), context.cancelled)
    except ToolFailure:
        return "unknown"


def _compared(path: Path, arguments: JSONObject, before: str) -> Verdict:
    data = read_whole(path)
    if digest(data) == before:
        return "absent"
    text = read_text(data)
    old, new = scrub(str(arguments["old_string"])), scrub(str(arguments["new_string"]))
    every = arguments.get("replace_all") is True
    return "confirmed" if text is not None and came_from(text, old, new, every, before) else "unknown"


@tool(effects="mutating", timeout=120, paths=("file_path",), probe=_probe)
async def edit(
    context: ToolContext, file_path: str, old_string: str, new_string: str, replace_all: bool = False
) -> ToolOutput:
    """Replace a piece of text in a file. The rest of it, its encoding, line endings and mode stay as they are.

    The piece must stand in the file exactly once: give enough of the lines around it, or set replace_all. A file
    that was read must not have changed since.

    Args:
        file_path: The file, absolute or relative to the workspace.
        old_string: The text to replace, to the letter, without line numbers. Empty only for an empty file.
        new_string: What to put in its place; empty to delete.
        replace_all: Replace it wherever it stands.
    """
    path = resolve(context, file_path)
    wanted = _Edit(path, shown(path, context), scrub(old_string), scrub(new_string), replace_all)
    return await in_thread(partial(_edit, wanted, seen(context.session, os.path.realpath(path))))


@dataclass(frozen=True)
class _Edit:
    path: Path
    name: str
    old: str
    new: str
    every: bool


def _edit(wanted: _Edit, last: str | None) -> ToolOutput:
    name, real = wanted.name, os.path.realpath(wanted.path)
    data = read_whole(wanted.path)
    if last is not None and last != digest(data):
        raise ToolFailure(f"{name} has changed since it was last read. Read it again, then edit.", code="FILE_CHANGED")
    text = read_text(data)
    if text is None:
        raise ToolFailure(f"{name} is a binary file; it cannot be edited.", code="BINARY_FILE")
    made = _made(text, wanted)
    after = _encoded(text, made.text, name)
    replace_file(wanted.path, after)
    meta = file_meta(real, digest(after), diff=unified(name, text.text, made.text), encoding=text.encoding)
    return output(_said(name, made), meta)


def _made(text: TextFile, wanted: _Edit) -> Replaced:
    """Give the text after the edit. Raises ToolFailure when it is not clear what to replace."""
    old, new, name = wanted.old, wanted.new, wanted.name
    if old == new:
        raise ToolFailure("old_string and new_string are the same: there is nothing to do.", code="NOTHING_TO_DO")
    if not old:
        if text.text:
            raise ToolFailure(f"old_string is empty, and {name} is not.", code="NO_MATCH")
        return Replaced(new, 1, (1,))
    made = replaced(text.text, old, new)
    if not made.count:
        raise ToolFailure(_no_match(text.text, old, name), code="NO_MATCH")
    if made.count > 1 and not wanted.every:
        lines = ", ".join(map(str, made.lines[:MAX_PLACES])) + (", ..." if made.count > MAX_PLACES else "")
        text_said = f"old_string stands {made.count:,} times in {name}, at lines {lines}."
        raise ToolFailure(f"{text_said} Give more of the text around the one you mean.", code="NOT_UNIQUE")
    return made


def _no_match(text: str, old: str, name: str) -> str:
    """Say why nothing matched, as far as it can be told."""
    squeezed = " ".join(old.split())
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    if squeezed and squeezed in " ".join(text.split()):
        return f"old_string is not in {name}, but the same text with other blanks or line breaks is. Copy it exactly."
    where = [number for number, line in enumerate(text.split("\n"), 1) if first and first in line][:MAX_PLACES]
    if where:
        return f"old_string is not in {name}; its first line is, at {', '.join(map(str, where))}. Read there again."
    return f"old_string is not in {name}. Read the file again, and copy the text without line numbers."


def _encoded(text: TextFile, after: str, name: str) -> bytes:
    try:
        return text.encode(after)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        said = f"{name} is in {text.label}, which has no {character!r} (U+{ord(character):04X})."
        raise ToolFailure(f"{said} Use other characters.", code="ENCODING") from None


def _said(name: str, made: Replaced) -> str:
    if made.count == 1:
        return f"Edited {name} at line {made.lines[0]:,}."
    return f"Edited {name} in {made.count:,} places."
