"""`everlog show`: a session in one of its views, now or as it was at a seq."""

from __future__ import annotations

import asyncio

import click

from everlog.agent.delegation import DELEGATED
from everlog.cli.family import descendants
from everlog.cli.faults import NothingThere
from everlog.cli.hints import hint
from everlog.cli.opened import every, find_id, stored
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, short_time, write_json
from everlog.cli.plain import one_line
from everlog.cli.viewing import view_name, view_of
from everlog.cli.views import VIEWS
from everlog.session import Event
from everlog.session.payloads import ToolResultEvent, TurnEnd
from everlog.store.seam import Store, StoredRecording


@declare("show")
@session_argument
@click.option(
    "--view",
    metavar="VIEW",
    callback=view_name,
    default="transcript",
    show_default=True,
    help=f"What to show of it: {', '.join(VIEWS)}, or a projection of a plugin as vendor/name.",
)
@click.option("--at", metavar="SEQ", type=click.IntRange(0), help="As it was after this event.")
@json_option
@store_option
def command(session: str | None, last: bool, view: str, at: int | None, as_json: bool, store: str | None) -> None:
    """Show a session: its transcript, or another view of it.

    SESSION is an id or a unique beginning of one. Looking changes nothing, runs no tool and asks no model.
    What a killed process left open is shown as it will be closed when the session is resumed.
    """

    async def work() -> None:
        async with stored(store) as opened, await opened.open(await find_id(opened, session, last), "read") as log:
            chosen = view_of(view, log)
            if at is not None and at >= log.next_seq:
                raise NothingThere(f"--at {at}: the session has the events 0 to {log.next_seq - 1}")
            if as_json:
                write_json(chosen.value(log, at))
                return
            _tell_head(log)
            chosen.tell(log, at)
            if at is None:
                _tell_tail(log)
                await _tell_children(opened, log)

    asyncio.run(work())


def _tell_head(log: StoredRecording) -> None:
    title = log.project("title")
    head = click.style(f"session {one_line(log.id)}", bold=True)
    facts = [short_time(log.header.created_at), counted(log.stored, "event"), one_line(log.header.cwd or "no folder")]
    click.echo("  ".join([head, *facts]) + (f"  {one_line(title)}" if title else ""))
    if log.unknown_types:
        names = one_line(", ".join(log.unknown_types))
        click.secho(f"holds events of a newer version or of a plugin that is not installed: {names}", fg="yellow")
    if log.torn is not None:
        click.secho(f"torn at its end: {one_line(str(log.torn))}", fg="yellow")


def _tell_tail(log: StoredRecording) -> None:
    """Say how the session stands: running, cut off by a crash, with input that waits."""
    if log.running:
        click.secho("running: another process writes it now", fg="green")
    computed = list(log.events.between(log.stored, log.next_seq))
    if computed:
        _tell_interrupted(computed)
    waiting = len(log.project("inbox"))
    if waiting:
        line = hint(f"everlog resume {one_line(log.id)}")
        told = f"{counted(waiting, 'input')} not yet taken up; `{line}` goes on"
        click.secho(told, fg="yellow")


async def _tell_children(store: Store, log: StoredRecording) -> None:
    """Draw the sub-agents that worked for the session, and theirs."""
    if not any(event.type == DELEGATED for event in log.events):
        return
    for lead, child in descendants([summary async for summary in every(store)], log.id):
        about = one_line(child.title or child.preview or "(nothing yet)", 60)
        click.echo(f"{lead}{one_line(child.id)}  {counted(child.events, 'event')}  {about}")


def _tell_interrupted(computed: list[Event]) -> None:
    """Say what the closers say: they are not stored before somebody resumes."""
    turn = next((event.data.turn for event in computed if isinstance(event.data, TurnEnd)), 0)
    click.secho(f"interrupted: the process ended in the middle of turn {turn}", fg="yellow")
    for data in (event.data for event in computed):
        if isinstance(data, ToolResultEvent) and data.error is not None and data.message.result is not None:
            click.secho(f"  call {one_line(data.message.result.tool_call_id)}: {data.error.code}", fg="yellow")
    click.secho("  resuming closes it with what is shown here", fg="yellow")
