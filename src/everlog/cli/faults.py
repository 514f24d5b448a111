"""Errors as one helpful line on stderr, and the exit code that goes with each."""

from __future__ import annotations

import os
import sys

import click

from everlog.cli.exits import FAILED, FAULT, INTERRUPTED, USAGE
from everlog.cli.hints import hinted
from everlog.cli.plain import error_line
from everlog.errors import EverlogError


class UsageFault(EverlogError):
    """The command line asks for something that cannot be: nothing was begun."""


class NothingThere(EverlogError):
    """What was named is not there: no session, or no such turn, request or event of one."""


def report(error: BaseException, debug: bool = False) -> int:
    """Write an error as one line on stderr (and its traceback, with `debug`), and give the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, BrokenPipeError):
        return _reader_left()
    if debug:
        _traceback(error)
    line, code = _told(_innermost(error))
    if line:
        print(f"everlog: {error_line(hinted(line))}", file=sys.stderr)
    return code


def _told(error: BaseException) -> tuple[str, int]:
    """Give what to say about an error, and the exit code."""
    match error:
        case click.UsageError():
            return f"{error.format_message().rstrip('.')} ({_where_help_is(error)})", USAGE
        case click.ClickException():
            return error.format_message(), FAILED
        case click.Abort() | KeyboardInterrupt():
            return "interrupted", INTERRUPTED
        case _ if type(error).__name__ == "CancelledError":  # asyncio is not imported for it
            return "interrupted", INTERRUPTED
        case EverlogError():
            return str(error), USAGE if _is_usage(error) else FAILED
        case OSError():
            return _system_error(error), FAILED
        case _ if _is_database(error):
            return f"the database of sessions cannot be used now: {error}", FAILED
        case _:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return f"a fault in Everlog: {what}; --debug shows where", FAULT


USAGE_ERRORS = (
    ("everlog.agent.factory", "ModelNeeded"),
    ("everlog.harness", "HarnessIncomplete"),
    ("everlog.kernel.errors", "ConfigError"),
    ("everlog.llm.models", "ProviderUnavailable"),
    ("everlog.llm.models", "UnknownModel"),
    ("everlog.llm.script", "ScriptInvalid"),
    ("everlog.store.errors", "HeadInvalid"),
    ("everlog.store.errors", "UrlInvalid"),
)
"""Errors of the command line or the configuration, by module and name, so that no room is imported for them."""


def _is_usage(error: EverlogError) -> bool:
    """Tell whether the command line or the configuration is at fault."""
    raised = (getattr(sys.modules[home], name) for home, name in USAGE_ERRORS if home in sys.modules)
    return isinstance(error, (UsageFault, *raised))  # an error of a module that was not imported is none of these


def _is_database(error: BaseException) -> bool:
    """Tell whether SQLite could not work, as on a full disk; by name, as not every command imports it."""
    return any((kind.__module__, kind.__name__) == ("sqlite3", "OperationalError") for kind in type(error).__mro__)


def _innermost(error: BaseException) -> BaseException:
    """Give the first error of a group, which task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _where_help_is(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx is not None else "everlog"
    return f"see `{path} --help`"


def _system_error(error: OSError) -> str:
    what = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {what}" if error.filename else what


def _traceback(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error, file=sys.stderr)


def _reader_left() -> int:
    """End quietly when what reads our output has left (`everlog show … | head`)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
