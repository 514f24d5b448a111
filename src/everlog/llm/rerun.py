"""The provider `rerun`: the model's part comes from a recorded session, while tools run live.

`rerun/SESSION` gives the answers of that session one after the other, each in the pieces in which it came. What
they ask for is done for real, here and now: the route's notice says so. No usage is told, since nothing is spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeAlias

from everlog.errors import EverlogError
from everlog.kernel import Context, plugin
from everlog.llm import deltas
from everlog.llm.failure import BAD_REQUEST, NOT_FOUND, ModelFailure
from everlog.llm.seam import BlobReader, Models, Route
from everlog.session.event import Event
from everlog.session.header import now_ms
from everlog.session.log import Log
from everlog.session.messagelist import message_of
from everlog.session.messages import Message, Reasoning, Text, ToolCall
from everlog.session.records import Delta, deltas_of
from everlog.session.request import Request
from everlog.store.seam import Store

LoadLog: TypeAlias = Callable[[], Awaitable[Log]]
"""Gives the recorded session. Raises an `EverlogError` when there is none."""


def rerun_route(session: str, load: LoadLog, pauses: bool = False) -> Route:
    """Make a route that gives the answers of a recorded session; `pauses` keeps the recorded time between pieces."""
    return Route(
        adapter=RerunAdapter(session, load, pauses),
        provider="rerun",
        model=session,
        config={"provider": "rerun", "model": session, "recorded": True},
        notice=f"the answers come from session {session}, not from a model; the tools that they call RUN LIVE",
    )


class RerunAdapter:
    """Gives recorded answers in order, one for each request.

    It begins behind as many as the first request holds, so that a session that is resumed goes on where it was.
    """

    name = "rerun"
    version = "1"

    def __init__(self, session: str, load: LoadLog, pauses: bool = False) -> None:
        self._session = session
        self._load = load
        self._pauses = pauses
        self._log: Log | None = None
        self._answers: list[Event] = []
        self._next = 0

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        """Give the canonical JSON of the request: nothing goes out."""
        return request.to_json()

    async def aclose(self) -> None:
        """There is nothing to close."""

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Give the next recorded answer.

        Raises:
            ModelFailure: the session cannot be read, or has no further answer.
        """
        log = self._log or await self._open(request)
        if self._next >= len(self._answers):
            held = len(self._answers)
            raise ModelFailure(f"session {self._session} has {held} answers and this is one more", BAD_REQUEST)
        answer, self._next = self._answers[self._next], self._next + 1
        last: int | None = None
        for delta in _recorded(log, answer):
            if self._pauses and last is not None:
                await asyncio.sleep(max(0, delta.time - last) / 1000)
            last = delta.time
            await asyncio.sleep(0)
            yield _now(delta)

    async def _open(self, request: Request) -> Log:
        try:
            log = await self._load()
        except EverlogError as error:
            raise ModelFailure(f"session {self._session} cannot be rerun: {error}", NOT_FOUND) from error
        self._answers = [event for event in log.events if event.type == "assistant/message"]
        self._next = sum(message.role == "assistant" for message in request.messages)
        self._log = log
        return log


def _recorded(log: Log, answer: Event) -> Iterator[Delta]:
    """Give the deltas of one answer: those of the chunks that it cites, else its blocks, each whole."""
    chunks = log.events.pick(answer.source_event_seqs or ())
    given = [delta for event in chunks for delta in deltas_of(event) if delta.kind != "usage"]
    message = message_of(answer)
    if message is not None and not given:
        given = list(_blocks(message))
    yield from given
    if not any(delta.kind == "finish" for delta in given):
        yield deltas.finish(deltas.TOOL_CALLS if message is not None and message.calls else deltas.STOP)


def _blocks(message: Message) -> Iterator[Delta]:
    for index, block in enumerate(message.content):
        match block:
            case Text():
                yield deltas.text(index, block.text)
            case Reasoning():
                yield deltas.reasoning(index, block.text)
            case ToolCall():
                yield deltas.call(index, block.arguments, block.id, block.name)


def _now(delta: Delta) -> Delta:
    """Give the delta as one that comes now; its record without what packing adds."""
    record = {k: v for k, v in (delta.record or {}).items() if k not in ("kind", "t0")} if delta.record else None
    return Delta(delta.kind, now_ms(), delta.index, delta.text, delta.id, delta.name, record)


@plugin(requires=(Models, Store))
async def rerun(ctx: Context) -> AsyncIterator[None]:
    """Lets `rerun/SESSION` give the answers of a recorded session, while tools run live."""
    models, store = ctx[Models], ctx[Store]

    def route(session: str) -> Route:
        return rerun_route(session, lambda: _load(store, session))

    ctx.at_end(models.add_provider("rerun", route))
    ctx.at_end(models.add_encoder(RerunAdapter("", lambda: _load(store, ""))))
    yield


async def _load(store: Store, session: str) -> Log:
    log: Log = await store.open(session, "read")
    return log
