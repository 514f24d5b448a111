"""`everlog verify`: is everything there, as it was stored, and what was sent still what the log says?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial

import click

from everlog.cli.exits import FAILED, OK
from everlog.cli.faults import UsageFault
from everlog.cli.hints import hint, hinted
from everlog.cli.opened import every, find_id, stored
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.cli.progress import ProgressLine
from everlog.cli.wire import encoders
from everlog.llm.wire import EncoderOf, WireCheck, check_wire
from everlog.session.rules.checking import binding
from everlog.store.backend import End
from everlog.store.errors import BlobMissing, SessionNotFound, StoreError
from everlog.store.store import Store
from everlog.store.verifying import Fault, Verified, read_head


@dataclass(frozen=True)
class Proof:
    """What was found out about one session."""

    found: Verified
    recording: bool
    wires: tuple[WireCheck, ...]

    @property
    def differences(self) -> list[WireCheck]:
        """Give the requests whose body this version of their adapter makes otherwise than it was sent."""
        return [wire for wire in self.wires if not wire.matches and wire.version == wire.sent.adapter_version]

    @property
    def unproven(self) -> list[WireCheck]:
        """Give the requests of adapters, or of versions of them, that are not here."""
        return [wire for wire in self.wires if not wire.matches and wire.version != wire.sent.adapter_version]

    @property
    def holds(self) -> bool:
        """Tell whether nothing is wrong; a recording may break rules."""
        return self.found.sound and not self.differences and (self.recording or not binding(self.found.violations))


@declare("verify")
@session_argument
@click.option("--head", metavar="COUNT:CHAIN", help="Compare with a head that an earlier verify printed.")
@json_option
@store_option
def command(session: str | None, last: bool, head: str | None, as_json: bool, store: str | None) -> int:
    """Prove that sessions are whole, and requests what was sent.

    The head that is printed can be kept elsewhere. Given back with --head, it tells whether anything up to there
    was changed since, however well.
    """
    kept = read_head(head) if head is not None else None
    if kept is not None and session is None and not last:
        raise UsageFault("--head belongs to one session; name it")
    return asyncio.run(_verify(store, session, last, kept, as_json))


async def _verify(url: str | None, session: str | None, last: bool, head: End | None, as_json: bool) -> int:
    proofs: list[Proof] = []
    async with stored(url) as store, encoders() as encoder_of:
        with ProgressLine() as line:
            async for id, damage in _chosen(store, session, last):
                progress = partial(line.tell, f"{id[:8]}: event")
                try:
                    found = await store.verify(id, head, progress)
                except SessionNotFound:
                    if session is not None or last:
                        raise
                    if damage is None:
                        continue  # it went away meanwhile
                    found = Verified(id, 0, None, (Fault(None, damage, unreadable=True),), (), None)
                proofs.append(await _prove(store, found, encoder_of))
    if as_json:
        write_json([_value(proof) for proof in proofs])
    else:
        for proof in proofs:
            _tell(proof)
        if not proofs:
            click.echo("no sessions here")
    return OK if all(proof.holds for proof in proofs) else FAILED


async def _chosen(store: Store, session: str | None, last: bool) -> AsyncIterator[tuple[str, str | None]]:
    """Give the ids of the sessions that were meant, each with its damage as a list shows it."""
    if session is not None or last:
        yield await find_id(store, session, last), None
        return
    async for summary in every(store):
        yield summary.id, summary.damage


async def _prove(store: Store, found: Verified, encoder_of: EncoderOf) -> Proof:
    """Derive every request of a sound session again."""
    if not found.sound:
        return Proof(found, False, ())
    try:
        async with await store.open(found.session, "read") as log:
            wires = await asyncio.to_thread(lambda: tuple(check_wire(log, encoder_of, log.blobs)))
            return Proof(found, bool(log.header.recording), wires)
    except (BlobMissing, StoreError) as error:
        fault = Fault(None, f"its requests cannot be derived again: {error}", unreadable=True)
        return Proof(replace(found, faults=(fault,)), False, ())


def _value(proof: Proof) -> dict[str, object]:
    found = proof.found
    return {
        "session": found.session,
        "holds": proof.holds,
        "events": found.events,
        "head": found.head,
        "faults": [{"seq": fault.seq, "what": fault.what} for fault in found.faults],
        "violations": [
            {"seq": broken.seq, "type": broken.type, "rule": broken.rule, "expected": broken.expected}
            for broken in found.violations
        ],
        "torn": None if found.torn is None else str(found.torn),
        "requests": len(proof.wires),
        "differences": [wire.difference for wire in proof.differences],
        "unproven": [wire.difference for wire in proof.unproven],
    }


def _tell(proof: Proof) -> None:
    found = proof.found
    state = click.style("sound", fg="green") if proof.holds else click.style("NOT SOUND", fg="red", bold=True)
    facts = [counted(found.events, "event"), f"{counted(len(proof.wires), 'request')} derived again"]
    click.echo(f"{one_line(found.session)}  {state}  {', '.join(facts)}  head {found.head or '-'}")
    for fault in found.faults:
        click.echo(f"  {one_line(hinted(str(fault)))}")
    for broken in found.violations:
        mark = "(a recording may) " if proof.recording else ""
        click.echo(f"  {mark}{one_line(str(broken))}")
    for wire in proof.differences:
        click.echo(f"  {one_line(wire.difference or '')}")
    if proof.unproven:
        some = proof.unproven[0].difference or ""
        click.echo(f"  {counted(len(proof.unproven), 'request')} not proven: {one_line(some)}")
    if found.torn is not None:
        click.echo(f"  {one_line(str(found.torn))}; the next opening for writing sets it aside")
    if any(fault.unreadable for fault in found.faults):
        return
    if found.faults and all(fault.against_head for fault in found.faults):
        click.echo(
            "  what is stored is sound in itself, so that no repair brings that back; a copy from before may have it"
        )
    elif found.faults:
        line = hint(f"everlog repair {one_line(found.session)} --salvage")
        click.echo(f"  `{line}` makes a new session of what is sound")
