"""A task over HTTP, against a server that nobody here wrote, on a source tree that nobody here wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.peers.aimock import Aimock
from tests.peers.sdist import unpacked


@pytest.fixture
def tree(cli: Cli) -> Path:
    return unpacked("tomli", "2.0.1", cli.work)


@pytest.fixture
def lab(cli: Cli, aimock: Aimock) -> Aimock:
    """The endpoint `lab` of the configuration leads to aimock."""
    cli.config.write_text(f'[defaults]\nmodel = "lab/some-model"\n[provider.lab]\nbase_url = "{aimock.openai_url}"\n')
    cli.environment["LAB_API_KEY"] = "secret-key-of-the-lab"
    return aimock


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": json.dumps(arguments)}


def version_of(tree: Path) -> str:
    code = "import tomli; print(tomli.__version__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tree / "src", capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_two_parallel_calls_an_edit_and_a_second_turn(cli: Cli, lab: Aimock, tree: Path) -> None:
    module = "src/tomli/__init__.py"
    lab.answer(
        {
            "content": "First a look.",
            "toolCalls": [call("grep", pattern="__version__"), call("read", file_path=module)],
        },
        {"toolCalls": [call("edit", file_path=module, old_string='"2.0.1"', new_string='"2.0.2"')]},
        {"content": "The version is 2.0.2 now."},
        {
            "toolCalls": [
                call("bash", command=f"cd src && {sys.executable} -c 'import tomli; print(tomli.__version__)'")
            ]
        },
        {"content": "It imports."},
    )
    first = cli("run", "raise the version to 2.0.2", "--cwd", str(tree), "--permissions", "full", "--output", "json")
    assert first.code == 0, first
    assert first.json["text"] == "The version is 2.0.2 now."
    assert version_of(tree) == "2.0.2"

    second = cli("resume", "--last", "does it import?", "--permissions", "full", "--output", "json")
    assert second.code == 0, second
    assert (second.json["turn"], second.json["text"]) == (2, "It imports.")

    steps = cli("show", "--last", "--view", "steps", "--json").json
    outcomes = [[(one["name"], one["outcome"]) for one in step["calls"]] for step in steps]
    assert outcomes == [
        [("grep", "answered"), ("read", "answered")],
        [("edit", "answered")],
        [],
        [("bash", "answered")],
        [],
    ]


def test_each_body_that_the_server_received_is_derived_again_from_the_log(cli: Cli, lab: Aimock, tree: Path) -> None:
    lab.answer(
        {"toolCalls": [call("grep", pattern="def load"), call("glob", pattern="**/*.py")]}, {"content": "Found."}
    )
    session = cli("run", "where is load?", "--cwd", str(tree), "--permissions", "full", "--output", "json").json[
        "session"
    ]
    requests = cli("request", session, "--json").json
    assert [row["step"] for row in requests] == ["1.1.1", "1.2.1"]
    for row, body in zip(requests, lab.bodies, strict=True):
        done = cli("request", session, "--step", row["step"], "--wire")
        assert done.code == 0, done
        assert done.out.encode() == body
        assert row["sha256"] in done.err


def test_the_log_holds_neither_the_key_nor_a_body(cli: Cli, lab: Aimock) -> None:
    lab.answer({"content": "Hello."})
    assert cli("run", "hello", "--output", "json").code == 0
    files = [path for path in cli.database.parent.rglob("sessions.db*") if path.is_file()]
    stored = b"".join(path.read_bytes() for path in files)
    assert b"secret-key-of-the-lab" not in stored
    assert lab.bodies[0] not in stored


def test_a_diff_tells_what_a_step_added(cli: Cli, lab: Aimock, tree: Path) -> None:
    lab.answer({"toolCalls": [call("glob", pattern="*.toml")]}, {"content": "One."})
    session = cli("run", "how many?", "--cwd", str(tree), "--permissions", "full", "--output", "json").json["session"]
    diff = cli("request", session, "--step", "1.2", "--diff", "--json").json
    assert diff["config"] == []
    assert diff["messages"]["removed"] == []
    assert [message["role"] for message in diff["messages"]["added"]] == ["assistant", "user"]
    assert "pyproject.toml" in json.dumps(diff["messages"]["added"])
