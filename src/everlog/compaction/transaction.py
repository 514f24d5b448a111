"""The transaction of a compaction: start, summary request, summary, replacement, end; or start and an error.

The surface changes in one event, the replacement, and only when there is a summary that is smaller than what it
stands for. Whatever goes wrong before leaves the surface as it was, and the lock is always released.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from everlog.compaction.estimator import estimate
from everlog.compaction.plan import Cut, Prune
from everlog.errors import EverlogError
from everlog.session.event import Replace
from everlog.session.jsonvalue import decode
from everlog.session.live import Session
from everlog.session.messages import Message, PluginSource, Text, new_id
from everlog.session.payloads import (
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    Range,
    Usage,
)
from everlog.session.views import json_raw

PLUGIN = "compaction"
FORM = "checkpoint"

_INTRODUCTION = (
    "The conversation before this point was shortened to save room; its whole text is kept in the session's log. "
    "This is a summary of it:\n\n"
)


class NoSmaller(EverlogError):
    """A summary that is not smaller than what it stands for.

    Attributes:
        tokens: what the summary would hold.
        shadowed: what it would stand for.
    """

    def __init__(self, tokens: int, shadowed: int) -> None:
        super().__init__(f"the summary holds about {tokens} tokens and would stand for {shadowed}; it was not used")
        self.tokens = tokens
        self.shadowed = shadowed


class Summary:
    """What a summariser gives.

    Attributes:
        text: the summary.
        provider: who wrote it, `template` without a model.
        model: which model, or the name of the template.
        usage: the tokens that it cost, when a model was asked.
    """

    def __init__(self, text: str, provider: str, model: str, usage: Usage | None = None) -> None:
        self.text = text
        self.provider = provider
        self.model = model
        self.usage = usage


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
    data: Any = decode(session.events[what.seq].data_json)
    data["message"]["content"][0]["content"] = [{"type": "text", "text": what.text}]
    session.append_json("tool/result", data, Replace(what.seq, what.seq), [what.seq])


async def compact(
    session: Session,
    cut: Cut,
    trigger: str,
    summarise: Callable[[str], Awaitable[Summary]],
    command: str | None = None,
) -> None:
    """Put a summary in the place of a run of nodes.

    `summarise` gets the compaction's id. `command` is the id of the command that asked for it, if one did.

    Raises:
        NoSmaller: the summary is not smaller than what it would stand for.
        EverlogError: the summariser failed. In both cases the surface is as it was.
    """
    id = str(uuid.uuid4())
    turn = session.ledger.turns.open_turn
    start = session.append(CompactionStart(compaction_id=id, turn=turn, trigger=trigger, source_command_id=command))
    try:
        _land(session, cut, id, start.seq, await summarise(id), command)
    except (Exception, asyncio.CancelledError) as error:
        reason = {"message": str(error) or type(error).__name__}
        session.append(
            CompactionEnd(compaction_id=id, turn=turn, error_json=json_raw(reason), source_command_id=command)
        )
        raise
    session.append(CompactionEnd(compaction_id=id, turn=turn, source_command_id=command))


def _land(session: Session, cut: Cut, id: str, start: int, summary: Summary, command: str | None) -> None:
    """Log the summary and put it in the place of the nodes that it stands for."""
    text = _INTRODUCTION + summary.text
    tokens = estimate(text, summary.model)
    if not summary.text.strip() or tokens >= cut.tokens:
        raise NoSmaller(tokens, cut.tokens)
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
