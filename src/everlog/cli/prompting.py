"""Where the words for the agent and the folder for its work come from. Raises UsageFault before anything begins."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from everlog.cli.faults import UsageFault
from everlog.session.jsonvalue import scrub


def prompt_from(words: Sequence[str]) -> str | None:
    """Give the words as one text, or what stdin holds for `-`; None when there is nothing but white space."""
    text = piped_prompt() if list(words) == ["-"] else " ".join(words)
    return scrub(text or "").strip() or None


def piped_prompt() -> str | None:
    """Give what stdin holds; None when it is a terminal, where nothing waits to be read."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    return scrub(sys.stdin.buffer.read().decode("utf-8", "replace")).strip() or None


def working_folder(given: str | None) -> Path:
    """Give the absolute folder that tools work in: the given one, else the current one."""
    try:
        folder = Path(given or os.getcwd()).expanduser().resolve(strict=True)
        with os.scandir(folder) as entries:
            next(entries, None)
    except OSError as error:
        raise UsageFault(f"the folder {given or '.'} cannot be used: {error.strerror or error}") from None
    if scrub(str(folder)) != str(folder):
        raise UsageFault(
            f"the folder {folder} cannot be used: its name is not text in the encoding of this system, so no session"
            " could say it; rename it, or set LC_ALL=C.UTF-8 where only the encoding is wrong"
        )
    return folder
