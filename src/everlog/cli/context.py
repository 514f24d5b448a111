"""`everlog context`: what the model sees, as a bar, and what stands behind each summary."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console
from rich.text import Text as Styled

from everlog.cli.eventline import gist, one_line_kept
from everlog.cli.faults import NothingThere
from everlog.cli.opened import reading
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.compaction.composition import KINDS, Composition, Kind, Part
from everlog.session import Log
from everlog.store.seam import StoredRecording

_STYLES: dict[Kind, str] = {
    "system": "magenta",
    "tools": "blue",
    "summaries": "yellow",
    "notes": "cyan",
    "messages": "bright_green",
    "answers": "green",
    "results": "white",
}
_WIDEST = 60
_FREE = "░"


@declare("context")
@session_argument
@click.option("--at", metavar="SEQ", type=click.IntRange(0), help="As it was after this event.")
@click.option("--open", "opened", metavar="SEQ", type=click.IntRange(0), help="List what this event stands for.")
@click.option("--nodes", is_flag=True, help="List every part of it, not only those that stand for others.")
@json_option
@store_option
def command(
    session: str | None, last: bool, at: int | None, opened: int | None, nodes: bool, as_json: bool, store: str | None
) -> None:
    """Show what the model sees, in tokens, and what stands for what.

    Tokens are the provider's own count as far as that goes, and estimated beyond it. --open lists the originals
    behind a summary or a shortened result; `everlog show --view log` has their whole text.
    """

    async def work() -> None:
        async with reading(store, session, last) as log:
            if at is not None and at >= log.next_seq:
                raise NothingThere(f"--at {at}: the session has the events 0 to {log.next_seq - 1}")
            found = Composition(log, at)
            if opened is not None:
                _open(log, found, opened, as_json)
            elif as_json:
                write_json(_value(found))
            else:
                _tell(log, found, nodes)

    asyncio.run(work())


def _value(found: Composition) -> dict[str, Any]:
    free = None if found.window is None else max(0, found.window - found.total)
    facts = {"at": found.at, "model": found.model, "window": found.window, "total": found.total, "free": free}
    return {**facts, "anchored": found.anchored, "kinds": found.by_kind(), "parts": list(found.parts)}


def _open(log: Log, found: Composition, seq: int, as_json: bool) -> None:
    behind = found.behind(seq)
    if not behind:
        raise NothingThere(f"--open {seq}: that event stands for no other; `everlog context` lists those that do")
    if as_json:
        write_json([{"part": part, "event": log.events[part.seq]} for part in behind])
        return
    click.echo(f"event {seq} stands for {counted(len(behind), 'message')}:")
    for part in behind:
        click.echo(_line(log, part))


def _tell(log: StoredRecording, found: Composition, nodes: bool) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    head = Styled(f"session {one_line(log.id)}", style="bold")
    head.append(f"  {one_line(found.model or 'no request yet')}  at event {found.at}", style="not bold")
    console.print(head, soft_wrap=True)
    kinds = found.by_kind()
    console.print(_bar(kinds, found, min(_WIDEST, console.width)), soft_wrap=True)
    console.print(_sum(found), soft_wrap=True)
    for kind in KINDS:
        if kind in kinds:
            console.print(_row(kind, kinds[kind], found), soft_wrap=True)
    replaced = [part for part in found.parts if part.stands_for]
    shown = list(found.parts) if nodes else replaced
    if shown:
        console.print(
            f"{'every part' if nodes else 'shortened'}, in the order of the model's view:", style="bold", soft_wrap=True
        )
    for part in shown:
        click.echo(_line(log, part))


def _bar(kinds: dict[Kind, int], found: Composition, width: int) -> Styled:
    """Give the bar, of so many characters: as long as the window, or as what is used where the window is not known."""
    whole = max(found.window or 0, found.total, 1)
    cells = {kind: max(1, round(tokens * width / whole)) for kind, tokens in kinds.items()}
    while sum(cells.values()) > width:  # what is there is seen, however little it is: at the cost of the largest
        cells[max(cells, key=lambda kind: cells[kind])] -= 1
    bar = Styled()
    for kind, count in cells.items():
        bar.append("█" * count, style=_STYLES[kind])
    return bar.append(_FREE * (width - sum(cells.values())), style="dim")


def _sum(found: Composition) -> str:
    of_window = f" of {found.window:,}, {found.total / found.window:.0%}" if found.window else ""
    counting = "counted by the provider" if found.anchored == len(found.parts) else "estimated"
    if 0 < found.anchored < len(found.parts):
        counting = f"estimated after {counted(found.anchored, 'message')} that the provider counted"
    return f"{found.total:,} tokens{of_window}, {counting}"


def _row(kind: Kind, tokens: int, found: Composition) -> Styled:
    whole = found.window or found.total or 1
    parts = sum(part.kind == kind for part in found.parts)
    count = "" if kind == "tools" else counted(parts, "message")
    row = Styled("■ ", style=_STYLES[kind])
    return row.append(f"{kind:<10} {tokens:>10,}  {tokens / whole:>6.1%}  {count}".rstrip(), style="default")


def _line(log: Log, part: Part) -> str:
    behind = ""
    if part.stands_for:
        ends = _ends(part.stands_for)
        behind = f" (for {counted(part.originals, 'original')}; --open {part.seq}: {ends})"
    event = log.events[part.seq]
    return one_line_kept(f"{part.seq:>8}  {part.kind:<10} {part.tokens:>8,}{behind}  {gist(event)}", 160)


def _ends(seqs: Iterable[int]) -> str:
    found = list(seqs)
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"
