"""`everlog request`: the exact request of any step, from the stored log alone."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from everlog.cli.exits import FAILED, OK
from everlog.cli.faults import NothingThere, UsageFault
from everlog.cli.opened import reading
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, told_json, write_json, write_table
from everlog.cli.plain import harmless_json, one_line
from everlog.cli.requestdiff import RequestDiff, compare
from everlog.cli.telling import told_text
from everlog.cli.wire import encoders
from everlog.llm.wire import WireCheck, wire_of_attempt, wire_of_side
from everlog.session import Message
from everlog.session.projections.request import AttemptRequest, Requests, SideRequest
from everlog.session.request import Request
from everlog.store.seam import StoredRecording

Found = AttemptRequest | SideRequest


@declare("request")
@session_argument
@click.option("--step", metavar="T.S[.A]", help="Turn, step and attempt; without an attempt, the step's last one.")
@click.option("--side", metavar="ID", help="A request that belongs to no step, by its id: a summary, a title.")
@click.option("--wire", is_flag=True, help="Derive the body that was sent, byte for byte, and check its digest.")
@click.option("--diff", "as_diff", is_flag=True, help="Tell what changed since the request before it.")
@json_option
@store_option
def command(
    session: str | None,
    last: bool,
    step: str | None,
    side: str | None,
    wire: bool,
    as_diff: bool,
    as_json: bool,
    store: str | None,
) -> int:
    """Show what a model was sent.

    Without --step or --side, lists the requests of SESSION. The request is derived from the log; no model is
    asked, and nothing is written.
    """
    if step is not None and side is not None:
        raise UsageFault("give --step or --side, not both")
    if (wire or as_diff) and step is None and side is None:
        raise UsageFault("--wire and --diff need --step or --side; without them the requests are listed")
    if wire and as_diff:
        raise UsageFault("give --wire or --diff, not both")

    async def look() -> int:
        async with reading(store, session, last) as log:
            requests: Requests = log.project("request")
            if step is None and side is None:
                _list(requests, as_json)
                return OK
            found = _attempt(requests, step) if step is not None else _side(requests, side or "")
            if wire:
                return await _wire(log, found, as_json)
            (_show_diff if as_diff else _show)(requests, found, as_json)
            return OK

    return asyncio.run(look())


def _attempt(requests: Requests, step: str) -> AttemptRequest:
    """Give the request that T.S or T.S.A names. Raises UsageFault, or NothingThere."""
    try:
        wanted = tuple(int(part) for part in step.split("."))
    except ValueError:
        wanted = ()
    if len(wanted) not in (2, 3):
        raise UsageFault(f"--step {step}: name it as turn.step or turn.step.attempt, like 2.1")
    keys = [key for key in requests if key[: len(wanted)] == wanted]
    if not keys:
        known = ", ".join(".".join(map(str, key)) for key in list(requests)[-5:]) or "none"
        raise NothingThere(f"the session has no request {step}; the last ones are: {known}")
    return requests[keys[-1]]


def _side(requests: Requests, id: str) -> SideRequest:
    if id not in requests.sides:
        raise NothingThere(f"the session has no side request {id}; it has: {', '.join(requests.sides) or 'none'}")
    return requests.sides[id]


def _list(requests: Requests, as_json: bool) -> None:
    rows = [_row(requests[key]) for key in requests] + [_side_row(side) for side in requests.sides.values()]
    rows.sort(key=lambda row: row["seq"])
    if as_json:
        write_json(rows)
        return
    heads = ("STEP", "SEQ", "MODEL", "MESSAGES", "BYTES", "ADAPTER")
    names = ("step", "seq", "model", "messages", "bytes", "adapter")
    write_table([[_cell(row[name]) for name in names] for row in rows], heads)


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _row(found: AttemptRequest) -> dict[str, Any]:
    return {"step": ".".join(map(str, found.key)), **_facts(found)}


def _side_row(found: SideRequest) -> dict[str, Any]:
    return {"step": None, "side": found.id, **_facts(found)}


def _facts(found: Found) -> dict[str, Any]:
    request, sent = found.request, found.sent
    return {
        "seq": found.seq,
        "model": None if request is None else f"{request.config.get('provider')}/{request.config.get('model')}",
        "messages": None if request is None else len(request.messages),
        "bytes": None if sent is None else sent.bytes,
        "sha256": None if sent is None else sent.sha256,
        "adapter": None if sent is None else sent.adapter,
        "adapterVersion": None if sent is None else sent.adapter_version,
    }


def _neutral(found: Found) -> Request:
    if found.request is None:
        raise NothingThere("the log has no request header before this step, so its request is not known")
    return found.request


def _show(requests: Requests, found: Found, as_json: bool) -> None:
    request = _neutral(found)
    facts = _row(found) if isinstance(found, AttemptRequest) else _side_row(found)
    if as_json:
        write_json({**facts, "header": request.header, "messages": list(request.messages)})
        return
    for name, value in sorted(request.config.items()):
        click.echo(f"{click.style(one_line(name), bold=True)}: {told_json(value)}")
    tools = [one_line(str(tool.get("name"))) for tool in request.tools]
    click.echo(f"{click.style('tools', bold=True)}: {', '.join(tools) or 'none'}")
    click.echo(f"{click.style('messages', bold=True)}: {len(request.messages)}")
    for message in request.messages:
        click.echo(f"  {_message_line(message)}")


def _message_line(message: Message) -> str:
    return f"{message.role:<9} {one_line(told_text(message.content), 110)}"


async def _wire(log: StoredRecording, found: Found, as_json: bool) -> int:
    """Write the body as it is, and on stderr whether it is what was sent; a difference is exit code 1."""
    if found.sent is None:
        raise NothingThere("the log does not say what was sent; whatever wrote it kept no digest")
    async with encoders() as encoder_of:
        if isinstance(found, SideRequest):
            wire = wire_of_side(log, found.id, encoder_of, log.blobs)
        else:
            wire = wire_of_attempt(log, *found.key, encoder_of, log.blobs)
    if as_json:
        write_json(_wire_value(wire))
    elif wire.body is not None:
        _write_body(wire.body)
    if not as_json:
        told = f"it is what was sent: {wire.sent.bytes:,} bytes, sha256 {wire.sent.sha256}"
        click.echo(f"everlog: {one_line(wire.difference or told)}", err=True)
    return OK if wire.matches else FAILED


def _wire_value(wire: WireCheck) -> dict[str, object]:
    body = None if wire.body is None else wire.body.decode("utf-8", "replace")
    facts = {"request": wire.request, "matches": wire.matches, "difference": wire.difference, "sha256": wire.sha256}
    return {**facts, "sent": wire.sent, "presentVersion": wire.version, "body": body}


def _write_body(body: bytes) -> None:
    """Write the very bytes, but where a terminal would act upon them."""
    if sys.stdout.isatty():
        click.echo(harmless_json(body.decode("utf-8", "replace")))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def _show_diff(requests: Requests, found: Found, as_json: bool) -> None:
    if isinstance(found, SideRequest):
        raise UsageFault("--diff compares steps; a side request has none before it")
    before = _before(requests, found)
    if before is None:
        raise NothingThere("this is the first request of the session; there is none before it to compare with")
    diff = compare(_neutral(before), _neutral(found))
    if as_json:
        write_json({"before": _row(before), "after": _row(found), **diff.to_json_value()})
    else:
        _tell_diff(diff, ".".join(map(str, before.key)))


def _before(requests: Requests, found: AttemptRequest) -> AttemptRequest | None:
    keys = list(requests)
    at = keys.index(found.key)
    return requests[keys[at - 1]] if at > 0 else None


def _tell_diff(diff: RequestDiff, before: str) -> None:
    click.echo(f"compared with {before}: {counted(diff.kept, 'message')} kept" + ("" if diff.removed else " in front"))
    for name, was, now in diff.config:
        click.echo(f"config  {one_line(name)}: {told_json(was)} → {told_json(now)}")
    tools = (("+", diff.tools_added, "green"), ("-", diff.tools_removed, "red"), ("~", diff.tools_changed, "yellow"))
    for mark, names, colour in tools:
        for name in names:
            click.echo(click.style(f"tool    {mark} {one_line(name)}", fg=colour))
    for mark, messages, colour in (("-", diff.removed, "red"), ("+", diff.added, "green")):
        for message in messages:
            click.echo(click.style(f"{mark} {_message_line(message)}", fg=colour))
