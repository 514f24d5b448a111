"""The group of commands: what it lists without importing, and how it fails."""

import asyncio
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import everlog
from everlog import open_store
from everlog.cli.exits import EXIT_CODES
from everlog.cli.group import cli
from everlog.cli.main import run
from everlog.cli.table import COMMANDS, OPTIONS, overview


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_the_same_in_the_table_as_in_its_own_help(name: str) -> None:
    module, line = COMMANDS[name]
    command: click.Command = import_module(module).command
    assert command.name == name
    assert (command.help or "").partition("\n")[0].rstrip(".") == line.rstrip(".")


def test_help_lists_every_command_and_exit_code_and_imports_no_command() -> None:
    code = (
        "import sys; from everlog.cli.main import run; code = run(['--help']);"
        "print(*sorted(m for m in sys.modules if m.startswith('everlog.')), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for word in [*COMMANDS, *map(str, EXIT_CODES)]:
        assert word in done.stdout
    assert set(done.stderr.split()) == {
        "everlog.cli",
        "everlog.cli.exits",
        "everlog.cli.main",
        "everlog.cli.table",
    }


def test_help_fits_a_terminal_of_80_columns() -> None:
    assert max(map(len, overview().splitlines())) <= 80


def test_click_gives_the_same_help_and_the_same_options() -> None:
    assert CliRunner().invoke(cli, ["--debug", "--help"]).output.rstrip() == overview()
    context = click.Context(cli)
    told = [", ".join(sorted(param.opts, key=len)) for param in cli.get_params(context)]
    assert told == list(OPTIONS)


def test_a_list_of_sessions_needs_neither_an_event_loop_nor_the_rules_of_a_log() -> None:
    code = "import sys, everlog.cli.sessions; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {"asyncio", "everlog.session.live", "everlog.kernel.kernel", "rich"} == set()


def test_a_list_of_sessions_of_the_default_kind_of_store_reads_no_vocabulary(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/sessions.db"
    asyncio.run(make_one(url))
    code = (
        "import sys; from everlog.cli.main import run; code = run(['sessions', '--store', sys.argv[1]]);"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=True)
    assert "listed" in done.stdout
    assert "everlog.store.sqlite.backend" in done.stderr.split()
    assert set(done.stderr.split()) & {"asyncio", "everlog.session.vocabulary", "everlog.session.event"} == set()


async def make_one(url: str) -> None:
    async with open_store(url) as store, await store.create({"id": "listed"}):
        pass


@pytest.mark.parametrize("arguments", [["no-such-command"], ["--no-such-option"]])
def test_a_wrong_command_line_is_one_line_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.count("\n") == 1
    assert "everlog --help" in written.err


def test_the_package_is_the_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "everlog", "--version"], capture_output=True, text=True, check=True)
    assert everlog.__version__ in done.stdout


def test_a_narrow_encoding_shows_escapes() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "everlog", "no-such-…"]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.returncode == 2
    assert b"no-such-\\u2026" in done.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    done = subprocess.run(
        [f"{sys.executable} -m everlog plugins --json | true"], shell=True, capture_output=True, text=True
    )
    assert done.stderr == ""
