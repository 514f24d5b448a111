"""`read`: a file by windows of numbered lines, an image as a blob, a blob's text by windows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from everlog.session.messages import Image, Text
from everlog.tools.declare import tool
from everlog.tools.files import MAX_WHOLE_BYTES, digest, open_regular, quoted, read_whole, resolve, shown
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, output
from everlog.tools.seen import file_meta
from everlog.tools.textfile import TextFile, image_type, read_text

MAX_LINES = 2_000
MAX_LINE = 2_000
MAX_WINDOW = 48_000
MAX_IMAGE_BYTES = 5_000_000


@tool(effects="read-only", parallel_safe=True, timeout=120, paths=("file_path",))
def read(context: ToolContext, file_path: str, offset: int = 1, limit: int = MAX_LINES) -> ToolOutput:
    """Read a text file, as lines with their numbers, or look at an image (PNG, JPEG, GIF, WebP).

    Long files come in windows: what is left out is said, with the offset to go on from. Lines of more than 2,000
    characters are cut. `blob:...` paths that other results name are read the same way.

    Args:
        file_path: The file, absolute or relative to the workspace.
        offset: The number of the first line to show, from 1.
        limit: How many lines to show, at most 2,000.
    """
    first, count = max(1, offset), max(1, min(limit, MAX_LINES))
    if file_path.startswith("blob:"):
        return _blob(context, file_path.removeprefix("blob:"), first, count)
    path = resolve(context, file_path)
    if _size(path) > MAX_WHOLE_BYTES:
        return _large(context, path, first, count)
    data = read_whole(path)
    if (kind := image_type(data)) is not None:
        return _image(context, path, data, kind)
    text = read_text(data)
    if text is None:
        name = shown(path, context)
        raise ToolFailure(f"{name} is a binary file of {len(data):,} bytes; it cannot be shown.", code="BINARY_FILE")
    meta = file_meta(os.path.realpath(path), digest(data), encoding=text.encoding)
    return output(_window(context, text, first, count), meta)


def _size(path: Path) -> int:
    descriptor = open_regular(path)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _blob(context: ToolContext, blob: str, first: int, count: int) -> ToolOutput:
    try:
        data = context.blobs.get(blob) if context.blobs is not None else None
    except LookupError:
        data = None
    if data is None:
        raise ToolFailure(f"There is no blob {quoted(blob)}.", code="FILE_NOT_FOUND")
    return output(_window(context, TextFile(data.decode(errors="replace")), first, count))


def _image(context: ToolContext, path: Path, data: bytes, kind: str) -> ToolOutput:
    name = shown(path, context)
    if context.blobs is None:
        raise ToolFailure(f"{name} is an image, and nothing here keeps blobs.", code="BINARY_FILE")
    if len(data) > MAX_IMAGE_BYTES:
        text = f"{name} is an image of {len(data):,} bytes; at most {MAX_IMAGE_BYTES:,} can be shown. Make it smaller."
        raise ToolFailure(text, code="FILE_TOO_LARGE")
    content = (Text(text=f"{name}, {len(data):,} bytes:"), Image(blob=context.blobs.put(data), media_type=kind))
    return ToolOutput(content)


def _window(context: ToolContext, text: TextFile, first: int, count: int) -> str:
    lines = text.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    if not total:
        return "The file is empty."
    if first > total:
        return f"The file has {total:,} lines; there is nothing from line {first:,} on."
    shown = _numbered(context, lines[first - 1 : first - 1 + count], first)
    last = first + len(shown) - 1
    notes = [f"encoding: {text.label}"] if text.label else []
    if text.text.count("\r\n"):
        notes.append("lines end in CRLF" if text.text.count("\r\n") == text.text.count("\n") else "mixed line endings")
    if first > 1 or last < total:
        more = f"; go on with offset={last + 1}" if last < total else ""
        notes.append(f"lines {first:,} to {last:,} of {total:,}{more}")
    return "\n".join([*shown, *([f"[{'; '.join(notes)}]"] if notes else [])])


def _numbered(context: ToolContext, lines: list[str], first: int) -> list[str]:
    """Give lines with their numbers, as many as the window holds; the first one always."""
    made: list[str] = []
    size = 0
    for number, line in enumerate(lines, first):
        made.append(f"{number:>6}\t{_cut(context.redact(line.removesuffix(chr(13))))}")
        size += len(made[-1]) + 1
        if size > MAX_WINDOW:
            return made if len(made) == 1 else made[:-1]
    return made


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} [... {len(line) - MAX_LINE:,} more characters ...]"


def _large(context: ToolContext, path: Path, first: int, count: int) -> ToolOutput:
    """Read a window of a file that is too large to be held: from its start, line by line, until the window is full."""
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if b"\0" in file.read(8_000):
            raise ToolFailure(f"{shown(path, context)} is a binary file of {size:,} bytes.", code="BINARY_FILE")
        file.seek(0)
        lines: list[str] = []
        for number, line in enumerate(_lines(file.fileno(), context), 1):
            if number >= first:
                lines.append(line)
            if len(lines) >= count:
                break
    shown_lines = _numbered(context, lines, first)
    if not shown_lines:
        return output(f"The file has no line {first:,}.")
    last = first + len(shown_lines) - 1
    note = f"[lines {first:,} to {last:,} of a file of {size:,} bytes; go on with offset={last + 1}]"
    return output("\n".join([*shown_lines, note]))


def _lines(descriptor: int, context: ToolContext) -> Iterator[str]:
    """Give the lines of a file, of each no more than its beginning, at bounded memory."""
    held, skipped = b"", 0
    while data := os.read(descriptor, 1 << 20):
        if context.cancelled.is_set():
            raise ToolFailure("Reading was stopped.", code="TOOL_CANCELLED")
        *whole, rest = data.split(b"\n")
        for part in whole:
            yield _beginning(held + part, skipped)
            held, skipped = b"", 0
        held += rest
        if len(held) > 4 * MAX_LINE:
            skipped += len(held) - 4 * MAX_LINE
            held = held[: 4 * MAX_LINE]
    if held:
        yield _beginning(held, skipped)


def _beginning(line: bytes, skipped: int) -> str:
    text = line.decode(errors="replace")
    return text if not skipped else f"{text} [... {skipped:,} more bytes ...]"
