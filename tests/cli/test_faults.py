"""Errors become one line and an exit code."""

import sqlite3
from importlib import import_module

import click
import pytest

from everlog.agent.factory import ModelNeeded
from everlog.cli.faults import USAGE_ERRORS, UsageFault, report
from everlog.errors import EverlogError
from everlog.harness import HarnessIncomplete
from everlog.kernel import ConfigError
from everlog.llm.models import ProviderUnavailable, UnknownModel
from everlog.llm.script import ScriptInvalid
from everlog.store.errors import HeadInvalid, UrlInvalid


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (EverlogError("no session abc"), 1, "no session abc"),
        (UsageFault("give a prompt"), 2, "give a prompt"),
        (ConfigError(None, 3, "is not TOML"), 2, "is not TOML"),
        (UnknownModel("nobody/it", "no provider 'nobody'", ["openai"]), 2, "known: openai"),
        (ProviderUnavailable("provider openai has no key"), 2, "no key"),
        (ModelNeeded("s-1"), 2, "asked no model yet"),
        (ScriptInvalid("answer 2: is wrong"), 2, "answer 2"),
        (UrlInvalid("'x' is not the URL of a store"), 2, "not the URL"),
        (HeadInvalid("'x' is not a head"), 2, "not a head"),
        (HarnessIncomplete("plugin loop: waits"), 2, "plugin loop"),
        (click.UsageError("No such option"), 2, "No such option"),
        (sqlite3.OperationalError("database or disk is full"), 1, "database or disk is full"),
        (PermissionError(13, "Permission denied", "/x"), 1, "/x: Permission denied"),
        (ExceptionGroup("many", [EverlogError("the first")]), 1, "the first"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ValueError("odd"), 70, "--debug"),
        (EverlogError("two\nlines \x1b[2J"), 1, "two lines ␛[2J"),
    ],
)
def test_an_error_is_one_line_with_its_code(
    error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error) == code
    written = capsys.readouterr()
    assert written.out == ""
    assert words in written.err
    assert written.err.count("\n") == 1
    assert "Traceback" not in written.err


@pytest.mark.parametrize(("home", "name"), USAGE_ERRORS)
def test_errors_of_the_command_line_are_there_under_the_names_that_they_are_known_by(home: str, name: str) -> None:
    kind = getattr(import_module(home), name)
    assert issubclass(kind, EverlogError)
    assert kind.__module__ == home


def test_an_error_that_merely_has_such_a_name_is_none_of_them() -> None:
    class UnknownModel(EverlogError):
        pass

    assert report(UnknownModel("of somebody else")) == 1


def test_debug_shows_the_traceback_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(ValueError("odd"), debug=True) == 70
    assert "ValueError: odd" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["x" * 100_000, "many words " * 10_000])
def test_of_a_long_value_the_middle_is_left_out(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(UsageFault(f"there is no session {given!r}; `everlog sessions` lists them")) == 2
    line = capsys.readouterr().err
    assert len(line) < 1_500
    assert line.startswith("everlog: there is no session '")
    assert "characters left out" in line
    assert line.endswith("; `everlog sessions` lists them\n")
