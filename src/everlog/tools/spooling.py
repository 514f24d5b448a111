"""The output of a command, spooled to a file: its head and tail for the model, the whole for a blob."""

from __future__ import annotations

import os
from typing import BinaryIO

from everlog.tools.bounding import spilled
from everlog.tools.seam import ToolContext

SHOWN_BYTES = 30_000
MARGIN = 4_000
"""How much more is looked at than is shown, so that a secret at the edge is seen whole."""


def shown_output(context: ToolContext, out: BinaryIO, start: int = 0) -> str:
    """Give the output from a position on, or its head and tail with what was cut said, and the whole in a blob."""
    size = os.fstat(out.fileno()).st_size - start
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
