"""The output of a command, spooled to a file: its head and tail for the model, the whole for a blob."""

from __future__ import annotations

import os
from typing import BinaryIO

from everlog.tools.bounding import spilled
from everlog.tools.seam import ToolContext

SHOWN_BYTES = 30_000
MARGIN = 4_000
"""How much more is looked at than is shown, so that a secret at the edge is seen whole."""


def written(out: BinaryIO) -> int:
    """Give how many bytes of output there are by now."""
    return os.fstat(out.fileno()).st_size


def shown_output(context: ToolContext, out: BinaryIO, start: int, end: int) -> str:
    """Give the output between two positions, in bytes; of much, head and tail, with the whole in a blob."""
    size = end - start
    if size <= SHOWN_BYTES:
        return _piece(out, start, size).rstrip("\n")
    head = SHOWN_BYTES * 3 // 5
    tail = SHOWN_BYTES - head
    whole = spilled(os.pread(out.fileno(), size, start), context.blobs) if context.blobs is not None else ""
    first = context.redact(_piece(out, start, head + MARGIN))[:head]
    last = context.redact(_piece(out, start + size - tail - MARGIN, tail + MARGIN))[-tail:]
    cut = f"[... {size - SHOWN_BYTES:,} of {size:,} bytes cut{whole} ...]"
    return f"{first}\n{cut}\n{last}".rstrip("\n")


def _piece(out: BinaryIO, start: int, length: int) -> str:
    return os.pread(out.fileno(), length, start).decode(errors="replace")
