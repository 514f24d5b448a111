"""Tokens of each attempt, failed ones too, and in all."""

from __future__ import annotations

import click

from everlog.cli.output import write_table
from everlog.session import Log
from everlog.session.payloads import Usage
from everlog.session.projections.usage import Spent

_HEADS = ("ATTEMPT", "INPUT", "CACHE READ", "CACHE WRITE", "OUTPUT", "REASONING")


def value(log: Log, at: int | None) -> dict[str, object]:
    """Give the sums, and the usage of each attempt that reported one."""
    spent: Spent = log.project("usage", at)
    attempts = [{"attempt": ".".join(map(str, key)), "usage": usage} for key, usage in spent.attempts.items()]
    return {"total": spent.total, "side": spent.side, "attempts": attempts}


def tell(log: Log, at: int | None) -> None:
    """Write a row for each attempt and for the sums."""
    spent: Spent = log.project("usage", at)
    rows = [_row(".".join(map(str, key)), usage) for key, usage in spent.attempts.items()]
    rows += [_row("side requests", spent.side), _row("total", spent.total)]
    write_table(rows, _HEADS)
    if not spent.attempts:
        click.echo("no attempt reported its tokens")


def _row(name: str, usage: Usage) -> list[str]:
    counts = (
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
    )
    return [name, *(f"{count:,}" for count in counts)]
