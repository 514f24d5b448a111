"""The loop as a plugin: makes live agents, and ends its own, in order, when it is unloaded."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from everlog.agent.boundary import Boundary
from everlog.agent.live import LiveAgent
from everlog.agent.seam import Agent, AgentFactory, Agents, NoLoop, OwnedAgent, SetUp
from everlog.agent.step import folder_of
from everlog.errors import EverlogError
from everlog.kernel import Context, Scope, plugin
from everlog.llm.seam import Models, Route
from everlog.prompt.seam import Prompt
from everlog.session.header import Header
from everlog.session.live import Session
from everlog.session.log import Log
from everlog.session.messages import ToolCall
from everlog.session.payloads import ToolCallEvent
from everlog.store.seam import DurableSession, Store
from everlog.tools.seam import ToolContext, Tools, Verdict

_log = logging.getLogger("everlog.agent")


class ModelNeeded(EverlogError):
    """A session that never asked a model is resumed without naming one.

    Attributes:
        id: the session's.
    """

    def __init__(self, id: str) -> None:
        super().__init__(f"session {id} has asked no model yet; name one as provider/model")
        self.id = id


class LoopFactory(AgentFactory):
    """Makes agents from the services that the loop requires."""

    def __init__(self, ctx: Context) -> None:
        self._scope: Scope = ctx.child("agents")
        self._agents = ctx[Agents]
        self._store = ctx[Store]
        self._models = ctx[Models]
        self._tools = ctx[Tools]
        self._prompt = ctx[Prompt]
        self._made: list[LiveAgent] = []
        self._closed = False

    async def close(self) -> None:
        """End the agents that still live, in the order in which they were made."""
        self._closed = True
        for agent in tuple(self._made):
            try:
                await agent.dispose()
            except Exception as error:  # whatever it is, the others still have to end
                _log.error("the agent of session %s did not end well: %s", agent.id, error)

    async def create(self, model: str, header: Header, set_up: SetUp | None, below: Agent | None = None) -> OwnedAgent:
        """Begin a session; when anything fails, it is deleted again."""
        route = await self._resolved(model)
        session = await self._store.create(header)
        try:
            return await self._make(session, route, set_up, *([below.scope] if below is not None else []))
        except BaseException:
            await self._store.purge(session.id)
            raise

    async def resume(self, id: str, model: str | None, set_up: SetUp | None) -> OwnedAgent:
        """Open a session for writing; when anything fails, it is closed again."""
        if model is not None:
            await self._resolved(model)  # a wrong name shall not even open the session
        session = await self._store.open(id, "write", probe=self._probe_for(id))
        try:
            route = await self._resolved(model or _last_model(session))
        except BaseException:
            await session.close()
            raise
        return await self._make(session, route, set_up)

    async def _resolved(self, model: str) -> Route:
        await self._models.find_key(model)
        return self._models.resolve(model)

    def _probe_for(self, id: str) -> Callable[[ToolCallEvent, object], Awaitable[Verdict]]:
        """Give what asks the tools about a call of a session whose outcome its log does not tell."""

        async def probe(call: ToolCallEvent, effects: object) -> Verdict:
            lost = ToolCall(id=call.call_id, name=call.name, arguments=call.arguments)
            async with await self._store.open(id, "read") as log:  # what the probe compares with stands in the log
                context = ToolContext(cwd=folder_of(log), call_id=call.call_id, session=log, scope=self._scope)
                return await self._tools.probe(lost, context)

        return probe

    async def _make(
        self, session: DurableSession, route: Route, set_up: SetUp | None, above: Scope | None = None
    ) -> LiveAgent:
        """Give an agent that is set up and published; when that fails, nothing is left of it but the stored session."""
        try:
            agent = self._placed(session, route, above)
        except BaseException:
            await session.close()  # no agent has it yet that would give it back
            raise
        try:
            prepared = set_up(agent) if set_up is not None else None
            if inspect.isawaitable(prepared):
                await prepared
            agent.publish(self._publish)
        except BaseException:
            await agent.dispose()
            raise
        return agent

    def _placed(self, session: DurableSession, route: Route, above: Scope | None) -> LiveAgent:
        if self._closed:  # the loop was unloaded while the store opened the session
            raise NoLoop
        scope = (above or self._scope).child(f"agent {session.id}")
        scope.provide(Session, session)
        scope.provide(Boundary, Boundary(session))
        return LiveAgent(session, scope, self._models, route, self._tools, self._prompt)

    def _publish(self, agent: LiveAgent) -> Callable[[], None]:
        if self._closed:  # the loop was unloaded while the agent was set up
            raise NoLoop
        unpublish = self._agents.publish(agent)
        self._made.append(agent)

        def undo() -> None:
            unpublish()
            self._made.remove(agent)

        return undo


def _last_model(log: Log) -> str:
    header = log.request_header()
    config = header.config if header is not None else None
    if not isinstance(config, dict):
        raise ModelNeeded(log.id)
    return f"{config['provider']}/{config['model']}"


@plugin(requires=(Agents, Store, Models, Tools, Prompt))
async def loop(ctx: Context) -> AsyncIterator[None]:
    """Runs agents: takes their turns."""
    factory = LoopFactory(ctx)
    # Undone in reverse: first no agent is made any more, then those that live end, and then their scopes.
    ctx.at_end(factory.close)
    ctx.at_end(ctx[Agents].use(factory))
    yield
