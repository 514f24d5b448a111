"""A session of our own that begins with what a model saw at the end of another log, of whatever program.

The messages are told again as turns and steps of the new session, whose header names the log as its parent. Its own
system prompt takes the place of the other's. What has no name here becomes a text that says what stood there.
"""

from __future__ import annotations

from typing import Any, cast

from everlog.interop.chronicle import Block, Chronicle, text_block
from everlog.session.event import Event
from everlog.session.header import Header, new_header
from everlog.session.live import Session
from everlog.session.log import Log
from everlog.session.messages import Message, ModelSource, ToolResult
from everlog.session.payloads import EndSeed
from everlog.session.reloading import reload
from everlog.store.seam import Store

ORIGIN = "continue"
PROGRAM = "everlog"


def continued(log: Log, cwd: str | None = None) -> Session:
    """Make a session in memory that begins with what a model saw last of a log; `cwd` is the log's unless given."""
    header = new_header(cwd=cwd or log.header.cwd, parent_session=log.id, origin=ORIGIN)
    told = Chronicle(PROGRAM, PROGRAM, header)
    for number, message in enumerate(log.messages()):
        _tell(told, number, message)
    seed = Session.create()  # gives the event its form
    events = [*told.recording().events]
    made = seed.append(EndSeed(inherited=True))
    events.append(Event(len(events), made.type, header.created_at, made.data_json, kind=made.kind))
    return reload(header, events)


async def continue_in(store: Store, log: Log, cwd: str | None = None) -> Header:
    """Keep such a session in a store, to be resumed, and give its header."""
    session = continued(log, cwd)
    await store.add(session.header, session.events)
    return session.header


def _tell(told: Chronicle, number: int, message: Message) -> None:
    content = [_block(block) for block in cast("list[Any]", message.value()["content"])]
    match message.role, message.source:
        case "system", _:
            return
        case "assistant", ModelSource(provider=provider, model=model):
            told.answer(number, content, model, provider=provider)
        case _, _ if message.result is not None:
            _answer(told, message.result, content)
        case _, source:
            told.user(content, form=None if message.role == "user" and source.get("kind") == "user" else message.role)


def _answer(told: Chronicle, result: ToolResult, content: list[Block]) -> None:
    inner = [_block(block) for block in content[0]["content"]]
    if not told.result(result.tool_call_id, inner, is_error=result.is_error):
        told.user([text_block("The result of a call that is not in the history:"), *inner], form="result")


def _block(block: Block) -> Block:
    """Give a block that every provider can be sent."""
    known = {"text", "reasoning", "image", "file", "tool-call", "tool-result"}
    return block if block.get("type") in known else text_block(f"[{block.get('type')}: not carried over]")


__all__ = ["ORIGIN", "continue_in", "continued"]
