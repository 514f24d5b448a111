"""Run the benchmarks: all of them, or the modules named on the command line."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figure import Figure

_NOT_BENCHMARKS = {"__init__", "__main__", "figure"}


def main(names: list[str]) -> None:
    """Print the table, a module at a time, so that a long run shows progress."""
    console = Console()
    found = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    for name in names or [name for name in found if name not in _NOT_BENCHMARKS]:
        with console.status(f"measuring {name}"):
            figures = list(import_module(f"benchmarks.{name}").figures())
        console.print(_table(name, figures))


def _table(name: str, figures: list[Figure]) -> Table:
    table = Table("figure", "value", "should be", "", "of", title=name, title_justify="left")
    for figure in figures:
        mark = {True: "ok", False: "MISSED", None: ""}[figure.holds]
        table.add_row(figure.name, f"{figure.value:,.3g} {figure.unit}", figure.bound, mark, figure.note)
    return table


if __name__ == "__main__":
    main(sys.argv[1:])
