"""A line that is told to be pasted looks in the store that was named, also when its path has to be quoted."""

from __future__ import annotations

import asyncio
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import click
import pytest
from tests.cli.conftest import Cli, Done
from tests.session.stories import Story, plain_turn

from everlog import open_store
from everlog.cli.group import cli as group
from everlog.cli.hints import TAKE_STORE, hint, hinted, remember

URL = "jsonl:///my logs?compression=zstd"


@pytest.fixture
def named() -> Iterator[None]:
    remember(URL)
    yield
    remember(None)


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for below in command.list_commands(context):
        found = command.get_command(context, below)
        assert found is not None
        yield from commands(f"{name} {below}".strip(), found)


def test_the_commands_that_take_a_store_are_those_that_have_the_option() -> None:
    having = {name for name, command in commands("", group) if any("--store" in one.opts for one in command.params)}
    assert having == TAKE_STORE


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("everlog resume ab", f"everlog resume ab --store '{URL}'"),
        ('everlog resume ab "…"', f"everlog resume ab --store '{URL}' \"…\""),
        ("everlog resume ab …", f"everlog resume ab --store '{URL}' …"),
        ("everlog store check", f"everlog store check --store '{URL}'"),
        ("everlog store copy A B", "everlog store copy A B"),
        ("everlog run --store URL", "everlog run --store URL"),
        ("everlog show --help", "everlog show --help"),
        ("everlog plugins", "everlog plugins"),
    ],
)
def test_a_line_gets_the_store_before_what_is_to_be_filled_in(named: None, line: str, told: str) -> None:
    assert hint(line) == told
    assert hinted(f"try `{line}`, now") == f"try `{told}`, now"


def test_without_a_named_store_nothing_is_added() -> None:
    assert hinted("try `everlog resume ab`") == "try `everlog resume ab`"


@pytest.mark.parametrize("path", ["a b", "a  b", "it's", 'a"b', "a\tb", "$HOME", "`x`"])
def test_what_the_shell_makes_of_a_line_names_the_same_path(path: str) -> None:
    from everlog.store.urls import path_of

    line = hint("everlog resume ab", f"sqlite:///x/{path}.db")
    url = shlex.split(" ".join(line.split()))[-1]
    assert path_of(url) == path_of(f"sqlite:///x/{path}.db")


def pasted(cli: Cli, done: Done, beginning: str, *more: str) -> Done:
    """Find the line that is to be pasted, and run it as the shell reads it; the environment names another store."""
    line = next(line for line in (done.out + done.err).splitlines() if f"everlog {beginning}" in line)
    text = line[line.index(f"everlog {beginning}") :].partition("`")[0]
    words = [word for word in shlex.split(text) if word != "…"]
    return cli(*words[1:], *more)


@pytest.fixture
def url(cli: Cli) -> str:
    url = f"sqlite:///{cli.work.parent}/my sessions.db"

    async def tell() -> None:
        async with open_store(url) as store:
            for id in ("alpha", "beta"):
                async with await store.create({"id": id}) as session:
                    plain_turn(Story(session), "hello", f"answer to {id}")

    asyncio.run(tell())
    return url


def test_what_is_deleted_comes_back_by_the_line_that_is_told(cli: Cli, url: str) -> None:
    done = cli("delete", "alpha", "beta", "--store", url)
    assert "restored alpha" in pasted(cli, done, "delete --undo").out
    assert len(cli("sessions", "--json", "--store", url).json) == 2
    cli("delete", "alpha", "--store", url)
    refused = cli("show", "alpha", "--store", url)
    assert refused.code == 1
    assert "restored alpha" in pasted(cli, refused, "delete alpha --undo").out


def test_a_damaged_session_is_salvaged_by_the_line_that_is_told(cli: Cli, url: str) -> None:
    with closing(sqlite3.connect(cli.work.parent / "my sessions.db")) as connection, connection:
        connection.execute("UPDATE event SET data = x'00' WHERE at = (SELECT min(at) + 2 FROM event)")
    for done in (cli("verify", "--store", url), cli("show", "alpha", "--store", url), cli("stats", "--store", url)):
        salvaged = pasted(cli, done, "repair alpha --salvage")
        assert salvaged.code == 0, (done, salvaged)
        assert pasted(cli, salvaged, "resume").err.startswith("everlog: nothing waits in session")
    copied = cli("store", "copy", url, f"sqlite:///{cli.work}/copy.db")
    assert copied.code == 1
    assert pasted(cli, copied, "repair alpha --salvage").code == 0


def test_a_fork_is_gone_on_with_by_the_line_that_is_told(cli: Cli, url: str) -> None:
    model = cli.script("- Again.\n" * 3)
    done = pasted(cli, cli("fork", "alpha", "--store", url), "resume", "go", "--model", model)
    assert done.code == 0, done
    assert "Again." in done.out


def test_a_turn_that_failed_is_gone_on_with_by_the_line_that_is_told(cli: Cli, url: str) -> None:
    model = cli.script("- call: {name: glob, arguments: {pattern: x}}\n- Done.")
    stopped = cli("run", "go", "--model", model, "--max-steps", "1", "--store", url)
    assert stopped.code == 3, stopped
    done = pasted(cli, stopped, "resume", "go on", "--model", cli.script("- Done.\n" * 3, "more.yaml"))
    assert done.code == 0, done


def test_a_store_of_the_environment_is_not_repeated(cli: Cli, url: str) -> None:
    cli.environment["EVERLOG_STORE"] = url
    assert "--store" not in cli("delete", "alpha").out
