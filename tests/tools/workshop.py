"""A step with calls, worked off by real tools in a real session: what the loop does around `Tools.answer`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from everlog.kernel import Scope
from everlog.session import Session
from everlog.session.messages import Message, ToolCall, model_source
from everlog.session.payloads import (
    AssistantMessage,
    Reason,
    StepEnd,
    StepStart,
    ToolResultEvent,
    TurnEnd,
    TurnStart,
)
from everlog.tools.builtin import BUILTIN
from everlog.tools.jobs import Jobs
from everlog.tools.registry import ToolRegistry
from everlog.tools.seam import Bench, Tool, ToolContext

_serial = itertools.count(1)


def call(name: str, id: str | None = None, /, **arguments: Any) -> ToolCall:
    """A call as a model makes it."""
    return raw_call(name, msgspec.json.encode(arguments).decode(), id)


def raw_call(name: str, arguments: str, id: str | None = None) -> ToolCall:
    return ToolCall(id=id or f"call-{next(_serial)}", name=name, arguments=arguments)


class KeptBlobs:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        name = f"sha256-{hash(data) & 0xFFFFFFFF:08x}"
        self.kept[name] = data
        return name

    def get(self, blob: str) -> bytes:
        return self.kept[blob]


class Workshop:
    """An agent's place without its loop: a session, tools, and steps whose calls are worked off."""

    def __init__(self, cwd: Path, *tools: Tool, together: int = 8, grace: float = 0.2) -> None:
        self.cwd = cwd
        self.scope = Scope("workshop")
        self.tools = ToolRegistry(self.scope, together, grace)
        self.scope.provide(Jobs, Jobs())
        self.blobs = KeptBlobs()
        self.session = Session.create({"cwd": str(cwd)})
        self.flushed: list[int] = []
        self.on_flush: Callable[[], None] = lambda: None
        for tool in tools or BUILTIN:
            self.tools.add(tool)

    async def flush(self) -> None:
        self.on_flush()
        self.flushed.append(self.session.next_seq)

    @property
    def bench(self) -> Bench:
        return Bench(session=self.session, scope=self.scope, cwd=self.cwd, flush=self.flush, blobs=self.blobs)

    @property
    def context(self) -> ToolContext:
        return ToolContext(cwd=self.cwd, session=self.session, scope=self.scope, blobs=self.blobs)

    def open_step(self, *calls: ToolCall) -> None:
        """Let the model ask for calls, in a turn of its own."""
        turn = self.session.ledger.turns.last + 1
        self.session.append(TurnStart(turn=turn))
        self.session.append(StepStart(turn=turn, step=1))
        message = Message(id=f"a{turn}", role="assistant", content=calls, source=model_source("script", "m"))
        self.session.append(AssistantMessage(turn=turn, step=1, message=message), surface="append", sources=[])

    def close_step(self) -> None:
        turn = self.session.ledger.turns.last
        self.session.append(StepEnd(turn=turn, step=1))
        self.session.append(TurnEnd(turn=turn, reason=Reason(kind="completed")))

    async def step(self, *calls: ToolCall) -> list[ToolResultEvent]:
        """A whole step: asked for, worked off, closed. Gives the results in the order of the log."""
        self.open_step(*calls)
        first = self.session.next_seq
        await self.tools.answer(calls, self.bench)
        self.close_step()
        return self.results(first)

    async def one(self, name: str, /, **arguments: Any) -> ToolResultEvent:
        """A step of one call."""
        (result,) = await self.step(call(name, **arguments))
        return result

    def results(self, since: int = 0) -> list[ToolResultEvent]:
        events = self.session.events.between(since, self.session.next_seq)
        return [event.data for event in events if isinstance(event.data, ToolResultEvent)]

    def types(self, since: int = 0) -> list[str]:
        return [event.type for event in self.session.events.between(since, self.session.next_seq)]


def text(result: ToolResultEvent) -> str:
    """What the model reads of a result."""
    block = result.message.result
    assert block is not None
    return "".join(getattr(part, "text", "") for part in block.content)


def code(result: ToolResultEvent) -> str | None:
    """The code of a failed result; None when it is none. Says that the block and the event agree."""
    block = result.message.result
    assert block is not None
    assert block.is_error == (result.error is not None)
    return result.error.code if result.error is not None else None
