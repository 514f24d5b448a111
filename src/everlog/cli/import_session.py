"""`everlog import`: take over a session of another tool."""

from __future__ import annotations

import asyncio

import click

from everlog.cli.hints import hint
from everlog.cli.opened import begun
from everlog.cli.options import declare, json_option, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.interop.importing import FORMATS, Imported, import_into

_SHOWN = 5


@declare("import")
@click.argument("file", type=click.Path())
@click.option("--from", "format", type=click.Choice(list(FORMATS)), help="Its form.  [default: the one it has]")
@json_option
@store_option
def command(file: str, format: str | None, as_json: bool, store: str | None) -> None:
    """Take over a session of another tool.

    FILE is a log that the tool wrote, or a folder or a zip archive of events. One of the same kind as ours that breaks
    no rule becomes a session, which can be resumed; another becomes a recording, which can be looked at, and from
    which `everlog continue` starts a session. FILE is not touched.
    """

    async def work() -> Imported:
        async with begun(store) as opened:
            return await import_into(opened, file, format)

    found = asyncio.run(work())
    (_write if as_json else _tell)(found)


def _write(found: Imported) -> None:
    broken = [{"seq": one.seq, "rule": one.rule, "expected": one.expected} for one in found.recording.violations]
    facts = {"id": found.header.id, "format": found.format, "events": found.recording.next_seq}
    counts = {"kept": dict(found.kept), "unknown": dict(found.unknown), "remarks": dict(found.remarks)}
    facts = {**facts, **counts}
    write_json({**facts, "kind": "session" if found.is_session else "recording", "violations": broken})


def _tell(found: Imported) -> None:
    events = counted(found.recording.next_seq, "event")
    name = one_line(found.header.id)
    title = FORMATS[found.format].title
    if found.is_session:
        click.echo(f"session {name}: {events} of {title}; it breaks no rule, and can be resumed")
        return
    broken = found.recording.violations
    if not FORMATS[found.format].goes_on:
        line = hint(f"everlog continue {name}")
        click.echo(f"recording {name}: {events} made of a log of {title}; `{line}` goes on from it")
        _tell_counts(found)
        return
    click.echo(
        f"recording {name}: {events} of {title}; it breaks {counted(len(broken), 'rule')}, so it can only be looked at"
    )
    for one in broken[:_SHOWN]:
        click.echo(f"  {one_line(str(one))}")
    if len(broken) > _SHOWN:
        click.echo(f"  … {len(broken) - _SHOWN} more")


def _tell_counts(found: Imported) -> None:
    """Say what was not told as a part of the conversation, so that nothing is missing without a count."""
    for what, count in found.remarks.items():
        click.echo(f"  {one_line(what)}: {count:,}")
    for name, count in found.kept.items():
        mark = " (of a kind that is not known)" if name in found.unknown else ""
        click.echo(f"  kept as it is: {counted(count, 'record')} {one_line(name)}{mark}")
