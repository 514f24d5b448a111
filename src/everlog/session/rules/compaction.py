"""Compactions: one open at a time, owned by the open turn or by none, ended by an error or by exactly one landing.

A start names the open turn, or null between turns, and its end names the same turn and command. A landing
is one summary, with what it shadows, and then one replacement that shadows the same nodes and carries the
compaction's id in its source. A live turn/start or turn/end may not cross an open compaction; an
`interrupted` or `forked` turn/end and a session/end-seed leave it behind as dead. A prune within a turn
needs no compaction; between turns it stands inside one, and names it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Raw

from everlog.session.jsonvalue import decode_or_text
from everlog.session.messages import Message, PluginSource
from everlog.session.payloads import (
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    TurnEnd,
)

if TYPE_CHECKING:
    from everlog.session.rules.ledger import Ledger, ReadEvent


LEFT_BEHIND = ("interrupted", "forked")


@dataclass(slots=True)
class OpenCompaction:
    """The compaction that holds the lock."""

    id: str
    turn: int | None
    command: str | None
    summary: int | None = None
    shadowed: list[int] = field(default_factory=list)
    landed: bool = False


@dataclass(slots=True)
class Compactions:
    """The open compaction, or None."""

    open: OpenCompaction | None = None


def check_start(ledger: Ledger, data: CompactionStart, read: ReadEvent) -> str | None:
    """Say why a compaction may not start here."""
    state = ledger.compactions
    if state.open is not None:
        return f"compaction {state.open.id} is still open"
    if data.turn != ledger.turns.open_turn:
        return f"turn {_name(ledger.turns.open_turn)} as its owner, not {_name(data.turn)}"
    return None


def check_summary(ledger: Ledger, data: CompactionSummary, read: ReadEvent) -> str | None:
    """Say why a summary may not stand here."""
    state = ledger.compactions
    own = state.open
    if own is None or own.id != data.compaction_id:
        return f"an open compaction {data.compaction_id}"
    if own.summary is not None:
        return "one summary in a compaction"
    if own.command != data.source_command_id:
        return f"the sourceCommandId of its start, {own.command}"
    return _shadow(data.shadowed_seqs, data.shadowed_tokens)


def check_prune(ledger: Ledger, data: CompactionPrune, read: ReadEvent) -> str | None:
    """Say why a prune may not stand here."""
    state = ledger.compactions
    own = state.open
    if data.compaction_id is not None and (own is None or own.id != data.compaction_id):
        return f"an open compaction {data.compaction_id}"
    if not ledger.turns.is_open and data.compaction_id is None:
        return "an open compaction, named by the prune, between turns"
    return _shadow(data.shadowed_seqs, data.shadowed_tokens)


def _shadow(seqs: tuple[int, ...], tokens: float) -> str | None:
    if not seqs:
        return "at least one shadowed seq"
    return None if tokens >= 0 and tokens == int(tokens) else "0 or more shadowed tokens, and no parts of one"


def compaction_of(message: Message) -> str | None:
    """Give the id of the compaction that a checkpoint message belongs to, or None."""
    return message.source.compaction_id if isinstance(message.source, PluginSource) else None


def check_replacement(ledger: Ledger, message: Message, shadowed: tuple[int, ...]) -> str | None:
    """Say why a message may not replace these nodes now."""
    own, named = ledger.compactions.open, compaction_of(message)
    if own is None:
        return None if named is None else f"an open compaction {named}"
    if named != own.id:
        return f"the compactionId {own.id} in the source of the replacement"
    source = decode_or_text(message.source.to_json())
    command = source.get("sourceCommandId", own.command) if isinstance(source, dict) else own.command
    if command != own.command:
        return f"the sourceCommandId of its start, {own.command}"
    if own.summary is None or own.landed:
        return "exactly one compaction/summary before its one replacement"
    if sorted(own.shadowed) != sorted(shadowed):
        return f"the shadowedSeqs of the summary, {own.shadowed}"
    return None


def check_pruned_result(ledger: Ledger) -> str | None:
    """Say why a result may not be shortened now."""
    if not ledger.turns.is_open and ledger.compactions.open is None:
        return "an open compaction around a replaced tool/result between turns"
    return None


def check_end(ledger: Ledger, data: CompactionEnd, read: ReadEvent) -> str | None:
    """Say why a compaction may not end here."""
    state = ledger.compactions
    own = state.open
    if own is None or own.id != data.compaction_id:
        return f"an open compaction {data.compaction_id}"
    if own.turn != data.turn:
        return f"the turn of its start, {_name(own.turn)}, not {_name(data.turn)}"
    if own.command != data.source_command_id:
        return f"the sourceCommandId of its start, {own.command}"
    if not _holds(data.error_json) and not own.landed:
        return "an error, or one compaction/summary and its replacement"
    return None


def _holds(raw: Raw) -> bool:
    """Tell whether a JSON-valued field is there and not null."""
    return bool(raw) and bytes(raw) != b"null"


def check_turn_start(ledger: Ledger, data: object, read: ReadEvent) -> str | None:
    """Say why a turn may not start now."""
    state = ledger.compactions
    return None if state.open is None else f"the end of compaction {state.open.id} first"


def check_turn_end(ledger: Ledger, data: TurnEnd, read: ReadEvent) -> str | None:
    """Say why a turn may not end so now."""
    state = ledger.compactions
    if state.open is None or data.reason.kind in LEFT_BEHIND:
        return None
    return f"the end of compaction {state.open.id} first"


def _name(turn: int | None) -> str:
    return "null" if turn is None else str(turn)


def apply_start(ledger: Ledger, data: CompactionStart, seq: int) -> None:
    """The lock is taken."""
    state = ledger.compactions
    state.open = OpenCompaction(data.compaction_id, data.turn, data.source_command_id)


def apply_summary(ledger: Ledger, data: CompactionSummary, seq: int) -> None:
    """The summary is known."""
    state = ledger.compactions
    if state.open is not None and state.open.id == data.compaction_id:
        state.open.summary, state.open.shadowed = seq, list(data.shadowed_seqs)


def apply_replacement(ledger: Ledger, data: Message, seq: int) -> None:
    """The summary has landed."""
    state = ledger.compactions
    if state.open is not None and compaction_of(data) == state.open.id:
        state.open.landed = True


def apply_release(ledger: Ledger, data: object, seq: int) -> None:
    """No compaction is open."""
    state = ledger.compactions
    state.open = None
