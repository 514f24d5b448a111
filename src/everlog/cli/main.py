"""The `everlog` command: a table of commands whose modules are imported when they are used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from everlog import __version__
from everlog.cli.exits import EXIT_CODES
from everlog.cli.faults import report

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("everlog.cli.run", "Have an agent work on a prompt, in a new session."),
    "resume": ("everlog.cli.resume", "Go on with a session."),
    "sessions": ("everlog.cli.sessions", "List the sessions, those used last first."),
    "show": ("everlog.cli.show", "Show a session: its transcript, or another view of it."),
    "request": ("everlog.cli.request", "Show what a model was sent."),
    "fork": ("everlog.cli.fork", "Make a new session that goes on from a point of another."),
    "diff": ("everlog.cli.diff", "Show where two sessions part, and what each has after."),
    "import": ("everlog.cli.import_session", "Take over a session of another tool."),
    "plugins": ("everlog.cli.plugins", "List the plugins and what state each is in."),
    "doctor": ("everlog.cli.doctor", "Say what is configured, what is missing, and how to fix it."),
}
"""Command -> the module that defines it as `command`, and its line in `everlog --help`."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and line, and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module and give its command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing what it lists."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="everlog")
@click.option("--debug", is_flag=True, help="Show the details of an error.")
def cli(debug: bool) -> None:
    """An agent harness on a durable, append-only event log."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; whatever goes wrong becomes one line on stderr."""
    try:
        code = cli.main(list(arguments), prog_name="everlog", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except BaseException as error:
        return report(error, debug=_asks_for_details(arguments))


def main() -> None:
    """Run the command line of this process."""
    sys.exit(run(sys.argv[1:]))


def _asks_for_details(arguments: Sequence[str]) -> bool:
    """Tell whether `--debug` was given; an error may come before any command has read its options."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--debug" in own
