"""What the exit codes mean; `everlog --help` and docs/cli.md list them."""

from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
STOPPED: Final = 3
FAULT: Final = 70
INTERRUPTED: Final = 130

EXIT_CODES: Final = {
    OK: "done; for run and resume: the turn completed",
    FAILED: "it failed, and one line on stderr says why",
    USAGE: "the command line or the configuration is wrong; nothing was begun",
    STOPPED: "the turn ended before the work was done: a limit, or a hook that refused",
    FAULT: "a fault in Everlog itself; --debug shows where",
    INTERRUPTED: "cancelled with Ctrl-C",
}
