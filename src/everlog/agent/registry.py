"""The service `Agents`: knows the agents that live, and has new ones made by whichever loop is loaded."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from everlog.agent.seam import Agent, AgentFactory, AgentNotFound, Agents, NoLoop, OwnedAgent, SetUp
from everlog.kernel import Context, plugin
from everlog.session.header import Header, new_header, now_ms, read_header
from everlog.session.jsonvalue import encode


class AgentRegistry(Agents):
    """Agents by the id of their session."""

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._factories: list[AgentFactory] = []

    async def create(
        self,
        model: str,
        *,
        cwd: str | Path | None = None,
        header: Header | dict[str, Any] | None = None,
        set_up: SetUp | None = None,
        below: Agent | None = None,
    ) -> OwnedAgent:
        """Begin a session, and give the agent that runs it."""
        return await self._factory().create(model, _header(header, cwd), set_up, below)

    async def resume(self, id: str, *, model: str | None = None, set_up: SetUp | None = None) -> OwnedAgent:
        """Give a new agent for a stored session."""
        return await self._factory().resume(id, model, set_up)

    def _factory(self) -> AgentFactory:
        if not self._factories:
            raise NoLoop
        return self._factories[-1]

    def get(self, id: str) -> Agent:
        """Give the live agent of a session."""
        try:
            return self._agents[id]
        except KeyError:
            raise AgentNotFound(id) from None

    def list(self) -> list[Agent]:
        """Give the live agents, the oldest first."""
        return list(self._agents.values())

    def use(self, factory: AgentFactory) -> Callable[[], None]:
        """Have agents made by this factory."""
        self._factories.append(factory)
        return lambda: self._factories.remove(factory)

    def publish(self, agent: Agent) -> Callable[[], None]:
        """Make an agent known."""
        self._agents[agent.id] = agent

        def undo() -> None:
            if self._agents.get(agent.id) is agent:
                del self._agents[agent.id]

        return undo


def _header(header: Header | dict[str, Any] | None, cwd: str | Path | None) -> Header:
    """Give the header of a new session, with `cwd` made absolute."""
    given = header.value() if isinstance(header, Header) else dict(header or {})
    if cwd is not None:
        given["cwd"] = os.path.abspath(cwd)
    fresh = new_header()
    return read_header(encode({"id": fresh.id, "createdAt": now_ms(), **given}))


@plugin(provides=(Agents,))
async def agents(ctx: Context) -> AsyncIterator[None]:
    """Knows the agents that live."""
    ctx.provide(Agents, AgentRegistry())
    yield
