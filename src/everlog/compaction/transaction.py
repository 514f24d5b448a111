"""The transaction of a compaction: start, summary request, summary, replacement, end; or start and an error.

The surface changes in one event, the replacement, and only when there is a summary that is smaller than what it
stands for. Whatever goes wrong before leaves the surface as it was, and the lock is always released.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from everlog.compaction.plan import Cut, Prune
from everlog.compaction.seam import CompactionFailed, Occasion, Summary
from everlog.session.event import Replace
from everlog.session.jsonvalue import decode, scrub
from everlog.session.live import Session
from everlog.session.messages import Message, PluginSource, Text, new_id
from everlog.session.payloads import (
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    Range,
)
from everlog.session.views import json_raw

PLUGIN = "compaction"
FORM = "checkpoint"

_INTRODUCTION = (
    "The conversation before this point was shortened to save room; its whole text is kept in the session's log. "
    "This is a summary of it:\n\n"
)


class NoSmaller(CompactionFailed):
    """A summary that is not smaller than what it stands for.

    Attributes:
        tokens: what the summary would hold.
        shadowed: what it would stand for.
    """

    code = "SUMMARY_NOT_SMALLER"

    def __init__(self, summary: Summary, tokens: int, shadowed: int) -> None:
        super().__init__(
            f"the summary holds about {tokens} tokens and would stand for {shadowed}; it was not used", summary.usage
        )
        self.tokens = tokens
        self.shadowed = shadowed


@dataclass(frozen=True)
class Landing:
    """What is to be replaced, and how a text is measured.

    Attributes:
        cut: the nodes to summarise.
        measure: gives the tokens that a message with a text would have.
    """

    cut: Cut
    measure: Callable[[str], int]


def prune(session: Session, what: Prune, compaction_id: str | None = None) -> None:
    """Shorten one result in the view: only the content of its block changes."""
    session.append(
        CompactionPrune(
            compaction_id=compaction_id,
            shadowed_range=Range(start_seq=what.seq, end_seq=what.seq),
            shadowed_seqs=(what.seq,),
            shadowed_tokens=what.tokens,
        )
    )
    old = session.events[what.seq]
    data: Any = decode(old.data_json)
    data["message"]["content"][0]["content"] = [{"type": "text", "text": what.text}]
    sources = [seq for seq in old.source_event_seqs or () if seq != what.seq]
    session.append_json("tool/result", data, Replace(what.seq, what.seq), [*sources, what.seq])


async def compact(occasion: Occasion, landing: Landing, summarise: Callable[[str], Awaitable[Summary]]) -> None:
    """Put a summary in the place of a run of nodes. `summarise` gets the compaction's id.

    Raises:
        NoSmaller: the summary is not smaller than what it would stand for.
        EverlogError: the summariser failed. In both cases the surface is as it was.
    """
    session, command = occasion.session, occasion.command
    id = str(uuid.uuid4())
    turn = session.ledger.turns.open_turn
    start = session.append(
        CompactionStart(compaction_id=id, turn=turn, trigger=occasion.trigger, source_command_id=command)
    )
    try:
        _land(session, landing, id, start.seq, await summarise(id), command)
    except (Exception, asyncio.CancelledError) as error:
        said = json_raw(_told(error))
        session.append(CompactionEnd(compaction_id=id, turn=turn, error_json=said, source_command_id=command))
        raise
    session.append(CompactionEnd(compaction_id=id, turn=turn, source_command_id=command))


def _land(session: Session, landing: Landing, id: str, start: int, summary: Summary, command: str | None) -> None:
    """Log the summary and put it in the place of the nodes that it stands for."""
    cut = landing.cut
    text = _INTRODUCTION + summary.text
    tokens = landing.measure(text)
    if tokens >= cut.tokens:
        raise NoSmaller(summary, tokens, cut.tokens)
    first, last = cut.nodes[0], cut.nodes[-1]
    logged = session.append(
        CompactionSummary(
            compaction_id=id,
            shadowed_range=Range(start_seq=first, end_seq=last),
            shadowed_seqs=cut.nodes,
            shadowed_tokens=cut.tokens,
            summary_json=json_raw([{"type": "text", "text": summary.text}]),
            provider=summary.provider,
            model=summary.model,
            usage=summary.usage,
            source_command_id=command,
        )
    )
    source = PluginSource(plugin=PLUGIN, form=FORM, compaction_id=id)
    checkpoint = Message(id=new_id(), role="user", content=(Text(text=text),), source=source)
    session.append(checkpoint, Replace(first, last), [start, logged.seq, *cut.nodes])


def _told(error: BaseException) -> dict[str, Any]:
    """Give what the log keeps of why a compaction ended without a landing; the tokens that it cost as well."""
    if isinstance(error, asyncio.CancelledError):
        return {"message": "cancelled", "code": "CANCELLED"}
    message = scrub(str(error)) or type(error).__name__
    told: dict[str, Any] = {"message": message, "code": getattr(error, "code", "COMPACTION_FAILED")}
    usage = getattr(error, "usage", None)
    return told if usage is None else {**told, "usage": usage.value()}
