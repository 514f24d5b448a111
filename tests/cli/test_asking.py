"""A person at a real terminal is asked before a call that needs it; what they say is what happens."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.cli.conftest import EVERLOG, Cli

TWO_WRITES = """
- - call: {name: write, arguments: {file_path: one.txt, content: "1"}}
- - call: {name: write, arguments: {file_path: two.txt, content: "2"}}
- Done.
"""


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, cli: Cli, *arguments: str) -> None:
        self._own, other = pty.openpty()
        self.process = subprocess.Popen(
            [str(EVERLOG), *arguments],
            cwd=cli.work,
            env=cli.environment | {"TERM": "xterm", "COLUMNS": "200"},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.seen = ""

    def expect(self, words: str) -> str:
        """Read until these words were written; give what stands before them."""
        deadline = time.monotonic() + 60
        while words not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if not select.select([self._own], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self._own, 65536)
            except OSError:
                data = b""
            assert data, f"ended without {words!r}: {self.seen}"
            self.seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode(errors="replace")).replace("\r\n", "\n")
        before, _, self.seen = self.seen.partition(words)
        return before

    def type(self, line: str) -> None:
        os.write(self._own, f"{line}\n".encode())

    def end_input(self) -> None:
        """Type Ctrl-D."""
        os.write(self._own, b"\x04")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.fixture
def run(cli: Cli) -> Iterator[Terminal]:
    terminal = Terminal(cli, "run", "go", "--model", cli.script(TWO_WRITES))
    yield terminal
    terminal.close()


def outcomes(cli: Cli) -> list[str]:
    steps = cli("show", "--last", "--view", "steps", "--json").json
    return [call["outcome"] for step in steps for call in step["calls"]]


def test_yes_allows_one_call_and_the_next_is_asked_about(cli: Cli, run: Terminal) -> None:
    run.expect("may it run?")
    assert not (cli.work / "one.txt").exists()
    run.type("y")
    run.expect("may it run?")
    assert (cli.work / "one.txt").read_text() == "1"
    run.type("n not this one")
    run.expect("completed")
    assert run.process.wait(30) == 0
    assert not (cli.work / "two.txt").exists()
    assert outcomes(cli) == ["answered", "refused"]
    assert "not this one" in cli("show", "--last", "--view", "messages").out


def test_always_allows_what_the_rule_matches(cli: Cli, run: Terminal) -> None:
    run.expect("a = always write(*)")
    run.type("perhaps")
    run.expect("may it run?")
    run.type("a")
    run.expect("completed")
    assert run.process.wait(30) == 0
    assert (cli.work / "two.txt").read_text() == "2"
    assert cli("show", "--last", "--view", "approvals", "--json").json["standing"][0]["rule"] == "write(*)"


def test_for_good_is_written_to_the_configuration(cli: Cli, run: Terminal) -> None:
    run.expect("g = for good")
    run.type("g")
    run.expect("completed")
    assert run.process.wait(30) == 0
    assert 'allow = ["write(*)"]' in cli.config.read_text()


def test_a_question_mark_explains_the_answers_and_asks_again(cli: Cli, run: Terminal) -> None:
    run.expect("? = what these do: ")
    run.type("?")
    told = run.expect("may it run?")
    assert [f"{key}: " in told for key in "yagn"] == [True] * 4
    assert "write(*) is written to your configuration" in told
    run.type("y")
    run.expect("may it run?")
    assert (cli.work / "one.txt").read_text() == "1"


def test_the_end_of_input_is_a_no_that_ends_the_line_and_has_no_words(cli: Cli, run: Terminal) -> None:
    run.expect("may it run?")
    run.end_input()
    assert run.expect("may it run?").partition("what these do: ")[2].startswith("\n")
    run.end_input()
    run.expect("completed")
    assert run.process.wait(30) == 0
    assert outcomes(cli) == ["refused", "refused"]
    messages = cli("show", "--last", "--view", "messages").out
    assert "did not permit this call" in messages
    assert "They said" not in messages


def test_ctrl_c_at_the_question_cancels_the_turn(cli: Cli, run: Terminal) -> None:
    run.expect("may it run?")
    os.kill(run.process.pid, signal.SIGINT)
    run.expect("cancelled by the user")
    assert run.process.wait(30) == 130
    assert outcomes(cli) == ["not started"]


def test_killed_at_the_question_the_call_never_began(cli: Cli, run: Terminal) -> None:
    run.expect("may it run?")
    run.process.kill()
    run.process.wait()
    assert "TOOL_NOT_STARTED" in cli("show", "--last").out
