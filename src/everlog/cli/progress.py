"""A line of progress on stderr for people who wait; nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

_EVERY = 0.1


class ProgressLine:
    """Tells how far something is, on a line that is wiped when it is done. It may be told from any thread."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._told_at = 0.0

    def tell(self, what: str, done: int, of: int) -> None:
        """Say how much of a thing is done."""
        now = time.monotonic()
        if not self._shown or now - self._told_at < _EVERY:
            return
        self._told_at = now
        share = f"{done * 100 // of}%" if of else ""
        sys.stderr.write(f"\r\x1b[K{what} {done:,} of {of:,} {share}")
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown and self._told_at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
