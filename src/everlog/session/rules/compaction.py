"""Compactions: one open at a time, owned by the open turn or by none, ended by an error or by exactly one landing.

A start names the open turn, or null between turns, and its end names the same turn and command. A landing
is one summary, with what it shadows, and then one replacement that shadows the same nodes and carries the
compaction's id in its source. A live turn/start or turn/end may not cross an open compaction; an
`interrupted` or `forked` turn/end and a session/end-seed leave it behind as dead. A prune within a turn
needs no compaction; between turns it stands inside one, and names it.
"""

from __future__ import annotations

import msgspec

from everlog.session.messages import Message, PluginSource
from everlog.session.payloads import (
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    TurnEnd,
)

LEFT_BEHIND = ("interrupted", "forked")


class OpenCompaction(msgspec.Struct):
    """The compaction that holds the lock."""

    id: str
    turn: int | None
    command: str | None
    summary: int | None = None
    shadowed: list[int] = msgspec.field(default_factory=list)
    landed: bool = False


class Compactions(msgspec.Struct):
    """The open compaction, or None."""

    open: OpenCompaction | None = None


def check_start(state: Compactions, data: CompactionStart, open_turn: int | None) -> str | None:
    """Say why a compaction may not start here."""
    if state.open is not None:
        return f"compaction {state.open.id} is still open"
    if data.turn != open_turn:
        return f"turn {_name(open_turn)} as its owner, not {_name(data.turn)}"
    return None


def check_summary(state: Compactions, data: CompactionSummary) -> str | None:
    """Say why a summary may not stand here."""
    own = state.open
    if own is None or own.id != data.compaction_id:
        return f"an open compaction {data.compaction_id}"
    if own.summary is not None:
        return "one summary in a compaction"
    if own.command != data.source_command_id:
        return f"the sourceCommandId of its start, {own.command}"
    return _shadow(data.shadowed_seqs, data.shadowed_tokens)


def check_prune(state: Compactions, data: CompactionPrune, open_turn: int | None) -> str | None:
    """Say why a prune may not stand here."""
    own = state.open
    if data.compaction_id is not None and (own is None or own.id != data.compaction_id):
        return f"an open compaction {data.compaction_id}"
    if open_turn is None and data.compaction_id is None:
        return "an open compaction, named by the prune, between turns"
    return _shadow(data.shadowed_seqs, data.shadowed_tokens)


def _shadow(seqs: tuple[int, ...], tokens: float) -> str | None:
    if not seqs:
        return "at least one shadowed seq"
    return None if tokens >= 0 else "0 or more shadowed tokens"


def compaction_of(message: Message) -> str | None:
    """Give the id of the compaction that a checkpoint message belongs to, or None."""
    found = message.source.get("compactionId") if isinstance(message.source, PluginSource) else None
    return found if isinstance(found, str) else None


def check_replacement(state: Compactions, message: Message, shadowed: tuple[int, ...]) -> str | None:
    """Say why a message may not replace these nodes now."""
    own, named = state.open, compaction_of(message)
    if own is None:
        return None if named is None else f"an open compaction {named}"
    if named != own.id:
        return f"the compactionId {own.id} in the source of the replacement"
    if own.summary is None or own.landed:
        return "exactly one compaction/summary before its one replacement"
    if sorted(own.shadowed) != sorted(shadowed):
        return f"the shadowedSeqs of the summary, {own.shadowed}"
    return None


def check_pruned_result(state: Compactions, open_turn: int | None) -> str | None:
    """Say why a result may not be shortened now."""
    if open_turn is None and state.open is None:
        return "an open compaction around a replaced tool/result between turns"
    return None


def check_end(state: Compactions, data: CompactionEnd) -> str | None:
    """Say why a compaction may not end here."""
    own = state.open
    if own is None or own.id != data.compaction_id:
        return f"an open compaction {data.compaction_id}"
    if own.turn != data.turn:
        return f"the turn of its start, {_name(own.turn)}, not {_name(data.turn)}"
    if own.command != data.source_command_id:
        return f"the sourceCommandId of its start, {own.command}"
    if not data.error_json and not own.landed:
        return "an error, or one compaction/summary and its replacement"
    return None


def check_turn_start(state: Compactions) -> str | None:
    """Say why a turn may not start now."""
    return None if state.open is None else f"the end of compaction {state.open.id} first"


def check_turn_end(state: Compactions, data: TurnEnd) -> str | None:
    """Say why a turn may not end so now."""
    if state.open is None or data.reason.kind in LEFT_BEHIND:
        return None
    return f"the end of compaction {state.open.id} first"


def _name(turn: int | None) -> str:
    return "null" if turn is None else str(turn)


def apply_start(state: Compactions, data: CompactionStart) -> None:
    """The lock is taken."""
    state.open = OpenCompaction(data.compaction_id, data.turn, data.source_command_id)


def apply_summary(state: Compactions, data: CompactionSummary, seq: int) -> None:
    """The summary is known."""
    if state.open is not None and state.open.id == data.compaction_id:
        state.open.summary, state.open.shadowed = seq, list(data.shadowed_seqs)


def apply_replacement(state: Compactions, message: Message) -> None:
    """The summary has landed."""
    if state.open is not None and compaction_of(message) == state.open.id:
        state.open.landed = True


def release(state: Compactions) -> None:
    """No compaction is open."""
    state.open = None
