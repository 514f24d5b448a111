"""The command line as a person has it: a real process, a real SQLite file, a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

EVERLOG = Path(sys.executable).with_name("everlog")
KEYS = ("_API_KEY", "EVERLOG_", "OPENAI_", "ANTHROPIC_")


class Done:
    """A command that ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


class Cli:
    """Runs commands in a folder of their own, with nothing of the environment that could lead elsewhere."""

    prefix: tuple[str, ...] = ()
    """What the commands are started with, as the program that takes a right of root's away."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.database = folder / "sessions.db"
        self.config = folder / "everlog.toml"
        self.config.write_text("")
        clean = {name: value for name, value in os.environ.items() if not any(key in name for key in KEYS)}
        home = {"HOME": str(folder / "home"), "XDG_DATA_HOME": str(folder / "data")}
        own = {"EVERLOG_STORE": f"sqlite:///{self.database}", "EVERLOG_CONFIG": str(self.config)}
        self.environment = clean | home | own

    def start(self, *arguments: str, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [*self.prefix, str(EVERLOG), *arguments],
            cwd=self.work,
            env=self.environment | dict(env or {}),
            text=True,
            **(pipes | options),
        )

    def __call__(self, *arguments: str, env: Mapping[str, str] | None = None, input: str | None = None) -> Done:
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        process = self.start(*arguments, env=env, stdin=stdin)
        out, err = process.communicate(input, timeout=120)
        return Done(process.returncode, out, err)

    def script(self, text: str, name: str = "script.yaml") -> str:
        """Write a script beside the folder that tools work in, and give its model's name."""
        path = self.work.parent / name
        path.write_text(text, encoding="utf-8")
        return f"script/{path}"

    def ran(self, script: str, prompt: str = "go", *more: str) -> dict[str, Any]:
        """Run a script to its end, and give the result."""
        done = self("run", prompt, "--model", self.script(script), "--output", "json", "--permissions", "full", *more)
        assert done.code == 0, done
        found: dict[str, Any] = done.json
        return found


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
