"""Options that several commands share, so that they have one name and one explanation everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from everlog.cli.hints import remember

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(click.Command):
    """A command that takes `--debug` too, wherever it stands on the line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        help = "Show the details of an error."
        self.params.append(click.Option(["--debug"], is_flag=True, expose_value=False, callback=_keep_debug, help=help))


def _keep_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta["everlog.debug"] = value or ctx.find_root().params.get("debug", False)


def wants_details() -> bool:
    """Tell whether the running command was asked for details with `--debug`."""
    return bool(click.get_current_context().meta.get("everlog.debug"))


def declare(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command; its help is the function's docstring."""
    return click.command(name, cls=Command)


def _remember_store(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Have the lines that the command tells to be pasted name the store, when this line does."""
    source = ctx.get_parameter_source(param.name or "")
    remember(value if source is click.core.ParameterSource.COMMANDLINE else None)
    return value


def store_option(function: Function) -> Function:
    """Add `--store URL`."""
    return click.option(
        "--store",
        metavar="URL",
        callback=_remember_store,
        envvar="EVERLOG_STORE",
        show_envvar=True,
        help="Where sessions are kept: sqlite:///FILE, jsonl:///FOLDER, memory:"
        "  [default: the configuration's, else the user's data folder]",
    )(function)


def json_option(function: Function) -> Function:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON for machines.")(function)


def session_argument(function: Function) -> Function:
    """Add the argument SESSION and `--last`."""
    last = click.option("--last", is_flag=True, help="Take the session that was used last.")
    return click.argument("session", required=False, metavar="[SESSION]")(last(function))
