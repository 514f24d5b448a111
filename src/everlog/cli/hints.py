"""Command lines that are told to be pasted: each looks in the store that was named on the line it answers.

A store that the environment or the configuration names is not repeated, as the pasted line finds it there, too.
"""

from __future__ import annotations

import re
import shlex
from contextvars import ContextVar

_ALONE = "run resume sessions show request context compact stats fork delete verify repair diff import continue doctor"
TAKE_STORE = frozenset({*_ALONE.split(), "store check", "store gc", "mcp serve"})
"""The commands that take `--store`."""

_named: ContextVar[str | None] = ContextVar("named", default=None)
_IN_BACKTICKS = re.compile(r"`(everlog [^`]+)`")
_COMMAND = re.compile(r"everlog ((?:store|mcp) \S+|\S+)")
_TO_FILL_IN = re.compile(r' "?…"?$')
_LOST_ON_A_LINE = re.compile(r"[\x00-\x1f\x7f]|\s(?=\s)")
"""What is not shown as it is when an output is made one line; in a URL it can be written otherwise."""


def remember(url: str | None) -> None:
    """Have hints name this store from now on; None where the command line names none."""
    _named.set(url)


def hint(line: str, url: str | None = None) -> str:
    """Give a command line with the store that it has to name: `url`, else the one that was remembered.

    A last word that is still to be filled in, `…`, stays the last.
    """
    url = url or _named.get()
    command = _COMMAND.match(line)
    if not url or command is None or command[1] not in TAKE_STORE or "--store" in line or "--help" in line:
        return line
    told = _LOST_ON_A_LINE.sub(lambda found: f"%{ord(found[0]):02X}", url)
    end = _TO_FILL_IN.search(line)
    at = end.start() if end else len(line)
    return f"{line[:at]} --store {shlex.quote(told)}{line[at:]}"


def hinted(text: str, url: str | None = None) -> str:
    """Give a text, like that of an error, whose command lines in backticks name the store that they have to."""
    return _IN_BACKTICKS.sub(lambda found: f"`{hint(found[1], url)}`", text)
