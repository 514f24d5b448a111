"""`everlog stats`: what a session cost, or all those of a period: tokens, cache hits, times, money."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from everlog.cli.chart import draw
from everlog.cli.exits import FAILED, OK
from everlog.cli.faults import UsageFault
from everlog.cli.hints import hinted
from everlog.cli.opened import every, find_id, stored
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, write_json, write_table
from everlog.cli.plain import error_line, one_line
from everlog.cli.settings import load_config
from everlog.errors import EverlogError
from everlog.llm.catalogue import Catalogue, Price
from everlog.llm.spending import Asked, Spending, Sums, ToolTime
from everlog.store.seam import Store

GROUPINGS = ("step", "turn", "session", "day", "model", "purpose", "tool")
_HEADS = ("", "REQUESTS", "RETRIES", "INPUT", "CACHED", "OUTPUT", "FIRST", "TOKENS/S", "CALLS", "TOOLS", "COST")
_OF_TOOLS = (0, _HEADS.index("CALLS"), _HEADS.index("TOOLS"))
"""The columns that a tool has something in: what is asked of a model belongs to none."""
_UNITS = {"h": 3_600, "d": 86_400, "w": 604_800}


@dataclass
class Found:
    """What was gathered: requests and calls, and which sessions could not be read, with the reasons."""

    asked: list[Asked] = field(default_factory=list)
    tools: list[ToolTime] = field(default_factory=list)
    sessions: int = 0
    unread: dict[str, str] = field(default_factory=dict)

    def take(self, spending: Spending) -> None:
        """Add a session."""
        self.sessions += 1
        self.asked += spending.asked
        self.tools += spending.tools

    def since(self, moment: float | None) -> Found:
        """Give what was sent at or after a time in milliseconds; what has no time is left out."""
        if moment is None:
            return self
        asked = [one for one in self.asked if (one.time or 0) >= moment]
        tools = [tool for tool in self.tools if (tool.time or 0) >= moment]
        return Found(asked, tools, self.sessions, self.unread)


@declare("stats")
@session_argument
@click.option("--by", type=click.Choice(GROUPINGS), help="What to sum up by.  [default: turn, or day for all sessions]")
@click.option("--since", metavar="WHEN", help="Only what was sent since then: 12h, 7d, 4w, or 2026-01-31.")
@click.option("--plot", is_flag=True, help="Draw the tokens of each line as a bar.")
@json_option
@store_option
def command(
    session: str | None, last: bool, by: str | None, since: str | None, plot: bool, as_json: bool, store: str | None
) -> int:
    """Show what a session, or all of them, cost: tokens, time, money.

    Tokens are those that providers told, of failed attempts and of summaries too. Money is told for models whose
    price is known: `everlog models` lists prices, and everlog.toml sets them.
    """
    moment = _moment(since)

    async def work() -> int:
        async with stored(store) as opened:
            if session is None and not last:
                found = await _of_all(opened, moment)
            else:
                found = await _of_one(opened, await find_id(opened, session, last))
        _show(found.since(moment), by or ("turn" if session or last else "day"), plot, as_json)
        return FAILED if found.unread else OK

    return asyncio.run(work())


def _moment(since: str | None) -> float | None:
    """Give a time in milliseconds since the epoch. Raises UsageFault."""
    if since is None:
        return None
    if relative := re.fullmatch(r"(\d+)([hdw])", since):
        return (time.time() - int(relative[1]) * _UNITS[relative[2]]) * 1000
    try:
        return time.mktime(time.strptime(since, "%Y-%m-%d")) * 1000
    except (ValueError, OverflowError):
        raise UsageFault(f"--since {since}: say how long ago (12h, 7d, 4w) or a day (2026-01-31)") from None


def _prices() -> Callable[[str, str], Price | None]:
    catalogue = Catalogue.load(load_config(Path.cwd()))
    return lambda provider, model: catalogue.facts(provider, model).price


async def _of_one(store: Store, id: str) -> Found:
    found = Found()
    async with await store.open(id, "read") as log:
        found.take(Spending(log, _prices()))
    return found


async def _of_all(store: Store, moment: float | None) -> Found:
    """Gather from every session used since then; what a fork inherited is told by its parent."""
    found, prices = Found(), _prices()
    async for summary in every(store):
        if moment is not None and summary.updated_at < moment:
            break
        try:
            async with await store.open(summary.id, "read") as log:
                found.take(Spending(log, prices, log.header.inherited_events or 0))
        except EverlogError as error:
            found.unread[summary.id] = str(error)
    return found


def _show(found: Found, by: str, plot: bool, as_json: bool) -> None:
    whole = Sums(found.asked, found.tools)
    groups = _grouped(found, by)
    if as_json:
        lines = [{by: name, **_value(sums)} for name, sums in groups]
        write_json({"sessions": found.sessions, "total": _value(whole), "by": lines, "unread": found.unread})
        return
    for id, why in found.unread.items():
        click.echo(f"could not be read: {one_line(id)}: {error_line(hinted(why))}", err=True)
    if not found.asked:
        click.echo("no request was made" + (" in that time" if found.sessions else ""))
        return
    _tell(whole, found)
    columns = _OF_TOOLS if by == "tool" else range(len(_HEADS))
    heads = (by.upper(), *_HEADS[1:])
    rows = [_row(name, sums) for name, sums in groups]
    write_table([[row[at] for at in columns] for row in rows], [heads[at] for at in columns])
    if plot and not whole.input + whole.output:
        click.echo("no tokens to draw: no provider told any")
    elif plot:
        bars = [(name, (sums.cache_read, sums.fresh + sums.cache_write, sums.output)) for name, sums in groups]
        click.echo(draw(f"tokens by {by}", bars, ("from cache", "read anew", "written")))


def _grouped(found: Found, by: str) -> list[tuple[str, Sums]]:
    """Give the sums of each group: days in their order, turns and steps too, others as they first come."""
    asked: dict[str, list[Asked]] = {}
    tools: dict[str, list[ToolTime]] = {}
    for one in found.asked:
        asked.setdefault(_group_of(one, by), []).append(one)
    for tool in found.tools:
        tools.setdefault(_group_of(tool, by), []).append(tool)
    names = [name for name in dict.fromkeys([*asked, *tools]) if name]
    if by in _ORDERS:
        names.sort(key=_ORDERS[by])
    return [(name, Sums(asked.get(name, ()), tools.get(name, ()))) for name in names]


_ORDERS: dict[str, Callable[[str], Any]] = {
    "day": str,
    "step": lambda name: _numbers(name),
    "turn": lambda name: _numbers(name),
}


def _numbers(name: str) -> tuple[bool, list[int]]:
    """Give the place of a turn or a step; what belongs to none comes after."""
    is_place = name[0].isdigit()
    return not is_place, [int(number) for number in name.split(".")] if is_place else []


def _group_of(one: Asked | ToolTime, by: str) -> str:
    """Give the group of a request or a call; an empty one for a call that has none."""
    match by:
        case "session":
            return one.session
        case "day":
            return time.strftime("%Y-%m-%d", time.localtime((one.time or 0) / 1000)) if one.time else "unknown"
        case "tool":
            return one.name if isinstance(one, ToolTime) else ""
        case "step" | "turn" if isinstance(one, ToolTime) or one.purpose == "step":
            return f"{one.turn}.{one.step}" if by == "step" else str(one.turn)
        case _ if isinstance(one, ToolTime):
            return ""
        case "model":
            return one.model or "unknown"
        case _:
            return one.purpose


def _value(sums: Sums) -> dict[str, Any]:
    return {
        "requests": sums.requests,
        "failed": sums.failed,
        "retries": sums.retries,
        "inputTokens": sums.input,
        "freshTokens": sums.fresh,
        "cacheReadTokens": sums.cache_read,
        "cacheWriteTokens": sums.cache_write,
        "outputTokens": sums.output,
        "reasoningTokens": sums.reasoning,
        "hitRate": sums.hit_rate,
        "firstMs": sums.first_ms,
        "tokensPerSecond": sums.tokens_per_second,
        "calls": sums.calls,
        "toolMs": sums.tool_ms,
        "waitedMs": sums.waited_ms,
        "cost": sums.cost,
        "unpriced": sums.unpriced,
        "unpricedModels": sums.unpriced_models,
    }


def _tell(sums: Sums, found: Found) -> None:
    hits = "" if sums.hit_rate is None else f", {sums.hit_rate:.0%} of them from cache"
    written = f" and {sums.cache_write:,} written to it" if sums.cache_write else ""
    thought = f", {sums.reasoning:,} of them reasoning" if sums.reasoning else ""
    lines = [
        f"{counted(sums.requests, 'request')} in {counted(found.sessions, 'session')}"
        f", {sums.retries} made again, {sums.failed} without an answer",
        f"{sums.input:,} tokens in{hits}{written}; {sums.output:,} out{thought}",
        *_told_pace(sums),
        f"tools ran {_seconds(sums.tool_ms)} in {counted(sums.calls, 'call')}, people were asked for "
        f"{_seconds(sums.waited_ms)}",
    ]
    for line in [*lines, *_told_cost(sums)]:
        click.echo(line)


def _told_pace(sums: Sums) -> list[str]:
    """Give how long the first pieces of answers took, and how fast they came, where a log tells."""
    first = [] if sums.first_ms is None else [f"the first piece of an answer after {_seconds(sums.first_ms)} (median)"]
    pace = [] if sums.tokens_per_second is None else [f"{sums.tokens_per_second:,.1f} tokens a second"]
    return [", ".join([*first, *pace])] if first or pace else []


def _told_cost(sums: Sums) -> list[str]:
    """Give what it cost, and of which models no price is known, with what would tell it."""
    known = "not known" if sums.cost is None else _money(sums.cost)
    if not sums.unpriced:
        return [] if sums.cost is None else [f"cost {known}"]
    more = f", and {len(sums.unpriced_models) - 3} more" if len(sums.unpriced_models) > 3 else ""
    models = ", ".join(one_line(model or "unknown") for model in sums.unpriced_models[:3]) + more
    without = "" if sums.cost is None else f" without {counted(sums.unpriced, 'request')}"
    hint = f'[model."{one_line(sums.unpriced_models[0])}".price] in everlog.toml says it'
    return [f"cost {known}{without}: no price is known of {models}; {hint}"]


def _row(name: str, sums: Sums) -> list[str]:
    return [
        name,
        f"{sums.requests:,}",
        f"{sums.retries:,}",
        f"{sums.input:,}",
        "-" if sums.hit_rate is None else f"{sums.hit_rate:.0%}",
        f"{sums.output:,}",
        "-" if sums.first_ms is None else _seconds(sums.first_ms),
        "-" if sums.tokens_per_second is None else f"{sums.tokens_per_second:,.1f}",
        f"{sums.calls:,}",
        _seconds(sums.tool_ms),
        "-" if sums.cost is None else _money(sums.cost),
    ]


def _seconds(ms: float) -> str:
    return f"{ms / 1000:,.2f} s" if ms < 600_000 else f"{ms / 60_000:,.0f} min"


def _money(cost: float) -> str:
    return f"{cost:,.4f}" if cost < 1 else f"{cost:,.2f}"
