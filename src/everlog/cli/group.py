"""The group of all commands, in which each is imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from everlog import __version__
from everlog.cli.table import COMMANDS, OPTIONS, PURPOSE, overview


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

    def get_help(self, ctx: click.Context) -> str:
        """Give the help without importing what it lists."""
        return overview()


@click.group(cls=LazyGroup, help=PURPOSE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="everlog", help=OPTIONS["--version"])
@click.option("--debug", is_flag=True, help=OPTIONS["--debug"])
def cli(debug: bool) -> None:
    """Run a command; what `--debug` does is seen to where errors are reported."""
