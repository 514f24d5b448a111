"""The examples run as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAID = {"ten_lines.py": "Hello from a script.", "own_parts.py": "events", "script.py": "Fine, thank you."}


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs_and_says_what_it_should(name: str) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert SAID[name] in done.stdout


def test_the_shortest_is_ten_lines_long() -> None:
    text = (
        (EXAMPLES / "ten_lines.py").read_text(encoding="utf-8").partition('"""\n\n')[2].partition("\n\nif __name__")[0]
    )
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
