"""docs/cli.md tells of every command, every option and every exit code; and of none that there is not."""

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from everlog.cli.exits import EXIT_CODES
from everlog.cli.settings import TABLES
from everlog.cli.table import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
SECTIONS = {
    found[1]: found[2]
    for found in re.finditer(r"^## everlog ([\w-]+)$\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
EVERYWHERE = {"--help", "--debug"}


def commands(name: str) -> list[click.Command]:
    """A command, with those below it when it is a group."""
    command: click.Command = import_module(COMMANDS[name][0]).command
    return [command, *(command.commands.values() if isinstance(command, click.Group) else ())]


def options(command: click.Command) -> set[str]:
    given = [name for param in command.params if isinstance(param, click.Option) for name in param.opts]
    return {name for name in given if name.startswith("--")} - EVERYWHERE


def test_there_is_a_section_for_every_command_and_for_nothing_else() -> None:
    assert set(SECTIONS) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_section_of_a_command_names_its_options_and_no_others(name: str) -> None:
    there = set().union(*map(options, commands(name)))
    told = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", SECTIONS[name])) - EVERYWHERE
    assert told == there


@pytest.mark.parametrize("name", COMMANDS)
def test_the_section_of_a_group_names_the_commands_below_it(name: str) -> None:
    for command in commands(name)[1:]:
        assert f"{name} {command.name}" in SECTIONS[name]


def test_every_exit_code_is_told_as_it_is_in_help() -> None:
    told = dict(re.findall(r"^\| (\d+) \| (.*?) \|$", PAGE, re.MULTILINE))
    assert {int(code): meaning.replace("`", "") for code, meaning in told.items()} == dict(EXIT_CODES)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_the_configuration_is_told(table: str) -> None:
    assert f"[{table}" in PAGE
