"""How commands write: JSON for machines, aligned columns and short times for people."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click
import msgspec

from everlog.cli.plain import harmless, harmless_json, one_line
from everlog.session.jsonable import jsonable


def write_json(value: object) -> None:
    """Write one JSON document and a newline."""
    text = msgspec.json.encode(jsonable(value)).decode("utf-8", "surrogatepass")
    click.echo(harmless_json(text))


def write_table(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> None:
    """Write rows under their heads, each column as wide as its widest cell.

    Cells are made one harmless line, and keep the spaces that they begin with: a drawn tree needs them.
    """
    cells = [[_indent(cell) + one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = [_aligned(row, widths) for row in cells]
    click.echo("\n".join([click.style(_aligned(heads, widths), bold=True), *lines]))


def write_block(text: str, indent: str = "") -> None:
    """Write text of any number of lines, made harmless, each after the indent."""
    for line in harmless(text).split("\n"):
        click.echo(indent + line)


def _indent(cell: str) -> str:
    return " " * (len(cell) - len(cell.lstrip(" ")))


def short_time(ms: int | None) -> str:
    """Give a time in milliseconds since the epoch as local date and time to the minute."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime((ms or 0) / 1000)) if ms else "-"
    except (OverflowError, ValueError, OSError):
        return "-"


def counted(number: int, noun: str) -> str:
    """Give `1 event`, `2 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def told_json(value: object) -> str:
    """Give a JSON value on one harmless line; a string without its quotes."""
    text = value if isinstance(value, str) else msgspec.json.encode(jsonable(value)).decode("utf-8", "replace")
    return one_line(text)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
