"""For scripts that are not async: an agent that is asked, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from everlog.agent.seam import Agent
from everlog.errors import EverlogError
from everlog.harness import Harness
from everlog.kernel import Config, Plugin
from everlog.session.live import Session
from everlog.session.payloads import TurnEnd


class TurnFailed(EverlogError):
    """A turn that did not come to its end.

    Attributes:
        reason: the kind of its end, as `error`, `limit` or `blocked`.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"the turn ended as {reason}{f': {detail}' if detail else ''}")
        self.reason = reason


class Conversation:
    """One agent, with a harness of its own, from `with` to its end. Not for use where an event loop runs already."""

    def __init__(
        self,
        model: str,
        *,
        cwd: str | Path | None = None,
        store: str | None = None,
        config: Config | None = None,
        plugins: Iterable[Plugin] = (),
        resume: str | None = None,
    ) -> None:
        """Say what to ask, as for `Harness` and `agents.create`; `resume` is the id of a session to go on with."""
        self._model = model
        self._cwd = cwd
        self._resume = resume
        self._harness = Harness(config, store, plugins, cwd)
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._agent: Agent | None = None

    def __enter__(self) -> Self:
        if _loop_runs():
            raise RuntimeError("an event loop runs here already: use `async with Harness(...)` in it")
        self._runner.__enter__()
        try:
            self._agent = self._runner.run(self._begun())
        except BaseException:
            self._runner.run(self._stack.aclose())
            self._runner.close()
            raise
        return self

    async def _begun(self) -> Agent:
        harness = await self._stack.enter_async_context(self._harness)
        if self._resume is not None:
            made = await harness.agents.resume(self._resume, model=self._model)
        else:
            made = await harness.agents.create(self._model, cwd=self._cwd)
        return await self._stack.enter_async_context(made)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._runner.run(self._stack.aclose())
        finally:
            self._runner.close()

    @property
    def agent(self) -> Agent:
        """Give the agent. Raises RuntimeError outside the block."""
        if self._agent is None:
            raise RuntimeError("a conversation is used within `with`")
        return self._agent

    @property
    def session(self) -> Session:
        """Give its session, to be read and observed."""
        return self.agent.session

    def ask(self, prompt: str) -> str:
        """Have the agent take a turn, and give the text of its last answer.

        Raises:
            TurnFailed: the turn did not come to its end.
        """
        return self._runner.run(self._asked(prompt))

    async def _asked(self, prompt: str) -> str:
        start = self.session.next_seq
        self.agent.followup(prompt)
        await self.agent.when_idle()
        text, reason = "", None
        for event in self.session.events.between(start, self.session.next_seq):
            if event.type == "assistant/message":
                message = self.session.message(event.seq)
                text = message.text if message is not None else ""
            elif isinstance(event.data, TurnEnd):
                reason = event.data.reason
        if reason is None or reason.kind != "completed":
            detail = reason.error.message if reason is not None and reason.error is not None else ""
            raise TurnFailed(reason.kind if reason is not None else "nothing", detail)
        return text


def _loop_runs() -> bool:
    """Tell whether this thread runs an event loop, as notebooks do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
