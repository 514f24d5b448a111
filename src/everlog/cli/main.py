"""The `everlog` command: from a command line to an exit code.

Nothing but the table of commands is imported before it is known what is asked for.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from everlog.cli.table import overview

_HELP: tuple[list[str], ...] = ([], ["--help"], ["-h"])


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; whatever goes wrong becomes one line on stderr."""
    try:
        _write_anything()
        if list(arguments) in _HELP:
            print(overview())
            return 0
        from everlog.cli.group import cli

        code = cli.main(list(arguments), prog_name="everlog", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except BaseException as error:
        from everlog.cli.faults import report

        return report(error, debug=_asks_for_details(arguments))


def _write_anything() -> None:
    """Have output in a narrow encoding show what it cannot write as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Run the command line of this process."""
    sys.exit(run(sys.argv[1:]))


def _asks_for_details(arguments: Sequence[str]) -> bool:
    """Tell whether `--debug` was given; an error may come before any command has read its options."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--debug" in own
