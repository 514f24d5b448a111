"""`everlog sessions`: which sessions there are.

It asks the backend itself: a list needs no event loop, no writer, and none of the rules of a log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

import click

from everlog.cli.exits import FAILED, OK
from everlog.cli.family import drawn
from everlog.cli.hints import hint, hinted
from everlog.cli.options import declare, json_option, store_option
from everlog.cli.output import short_time, write_json, write_table
from everlog.cli.plain import error_line, one_line
from everlog.cli.settings import existing_url, store_url
from everlog.store.backend import Hit, Summary
from everlog.store.urls import opener_of

_HEADS = ("SESSION", "USED", "EVENTS", "STATE", "WHAT IT IS ABOUT")
_BEGIN = 'everlog run "…"'
_ID_LENGTH = 8
_ABOUT_LENGTH = 72


@declare("sessions")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="How many at most.")
@click.option("--after", metavar="CURSOR", help="The next page: the cursor of the last session, which --json tells.")
@click.option("--search", metavar="WORDS", help="Only where all these words were said, with the place.")
@click.option("--trash", is_flag=True, help="Those in the trash.")
@json_option
@store_option
def command(limit: int, after: str | None, search: str | None, trash: bool, as_json: bool, store: str | None) -> int:
    """List the sessions, those used last first."""
    url = existing_url(store)
    if url is None:
        _write([]) if as_json else click.echo(f"no store at {store_url(store)} yet; begin one with {hint(_BEGIN)}")
        return OK
    with closing(opener_of(url)(url)) as backend:
        if search is not None:
            missed: dict[str, str] = {}
            hits = backend.search(search, limit, missed.__setitem__)
            (_write if as_json else _tell_hits)(hits)
            return _tell_missed(missed)
        page = backend.list(limit, after, trash)
    if as_json:
        _write(page)
    else:
        _tell(page, limit)
    return OK


def _write(found: Sequence[Hit] | Sequence[Summary]) -> None:
    write_json(list(found))


def _tell(page: Sequence[Summary], limit: int) -> None:
    if not page:
        click.echo(f"no sessions here; begin one with {hint(_BEGIN)}")
        return
    length = _telling_length([summary.id for summary in page])
    rows = [
        [
            summary.id[:length],
            short_time(summary.updated_at),
            f"{summary.events:,}",
            _state(summary),
            lead + _about(summary),
        ]
        for lead, summary in drawn(page)
    ]
    write_table(rows, _HEADS)
    if len(page) == limit:
        click.echo(f"(the first {limit}; --limit gives more)", err=True)


def _telling_length(ids: Sequence[str]) -> int:
    """Give how much of the ids must be shown so that no two look alike."""
    length = _ID_LENGTH
    while len({id[:length] for id in ids}) < len(set(ids)):
        length += 4
    return length


def _state(summary: Summary) -> str:
    if summary.damage:
        return "damaged"
    if summary.recording:
        return "recording"
    return _held(summary.holder) if summary.holder else "-"


def _held(holder: str) -> str:
    """Say who writes a session: its process, when that is known."""
    process = holder.partition(" on ")[0]
    return f"running ({process})" if process.startswith("pid ") else "running"


def _about(summary: Summary) -> str:
    said = summary.damage or summary.title or summary.preview or "(nothing yet)"
    mark = f"({summary.origin}) " if summary.origin else ""
    return one_line(mark + said, _ABOUT_LENGTH)


def _tell_missed(missed: Mapping[str, str]) -> int:
    """Say which sessions could not be searched, and give the exit code."""
    for id, why in missed.items():
        click.echo(f"not searched: {one_line(id)}: {error_line(hinted(why))}", err=True)
    return FAILED if missed else OK


def _tell_hits(hits: Sequence[Hit]) -> None:
    if not hits:
        click.echo("nothing was found")
    for hit in hits:
        head = click.style(f"{hit.session[:_ID_LENGTH]} at {hit.seq}", bold=True)
        click.echo(f"{head}  {one_line(hit.title or '')}")
        click.echo(f"  {one_line(hit.snippet, 160)}")
