"""Budgets of a turn: how many steps, tokens and seconds it may take, and how often it may repeat itself.

Each is off, or generous, unless the configuration says otherwise. A turn that has had enough ends with a reason
that says which budget it was: between two steps, or, when its time is over, at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice, takewhile

import msgspec
from msgspec.structs import replace

from everlog.agent.seam import BUDGET, PRE_STEP, Agent, Enter, Limit, Progress, Proposal, Reject
from everlog.kernel import Config, Context, plugin
from everlog.llm.seam import Models
from everlog.session.event import Event
from everlog.session.messages import ModelSource
from everlog.session.payloads import AssistantMessage, Usage
from everlog.session.projections.usage import Spent


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The budgets of a turn, `[plugin.limits]`; 0 and None are no limit.

    Attributes:
        steps: how many steps.
        tokens: how many tokens, input and output of all its requests together.
        time: how many seconds; when they are over the turn ends at once, whatever it does.
        cost: how much money, in the currency of the configured prices; models without a price cost nothing.
        repeated_call: how many steps in a row may ask for exactly the same calls.
    """

    steps: int | None = 500
    tokens: int | None = None
    time: float | None = None
    cost: float | None = None
    repeated_call: int | None = 12

    def __post_init__(self) -> None:
        """Raise ValueError for what limits nothing and is not said to: a number below 0, and one that is none."""
        for name in self.__struct_fields__:
            limit = getattr(self, name)
            if limit is not None and not limit >= 0:
                raise ValueError(f"{name}: {limit} is no limit; 0 is for none")

    async def met(self, progress: Progress) -> Limit | None:
        """Give the first limit that a turn has met, or None."""
        if self.steps and progress.steps >= self.steps:
            return Limit("steps", self.steps)
        if self.tokens and _tokens(progress) >= self.tokens:
            return Limit("tokens", self.tokens)
        if self.repeated_call and _repeats(progress, self.repeated_call):
            return Limit("repeated-call", self.repeated_call)
        return None


def _answers(progress: Progress) -> Iterator[AssistantMessage]:
    """Give the answers of the turn, the newest first."""
    events = progress.agent.session.events
    for seq in range(len(events) - 1, progress.started_seq, -1):
        if events[seq].type == "assistant/message":
            data = events[seq].data
            if isinstance(data, AssistantMessage):
                yield data


def _tokens(progress: Progress) -> int:
    used: Usage = progress.agent.session.project("usage").turn(progress.turn)
    return used.input_tokens + used.cache_read_tokens + used.cache_write_tokens + used.output_tokens


def _repeats(progress: Progress, times: int) -> bool:
    """Tell whether the last steps, so many of them, asked for the same calls with the same arguments."""
    asked = (_asked(answer) for answer in islice(_answers(progress), times))
    first = next(asked, [])
    same = 1 + sum(1 for _ in takewhile(lambda calls: calls == first, asked))
    return bool(first) and same == times


def _asked(answer: AssistantMessage) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in answer.message.calls]


def limits_from(config: Config, name: str) -> Limits:
    """Read the table: of what the user's own files limit, a project's file makes only less. Raises ConfigError."""
    limits = config.section(Limits, "plugin", name)
    own = config.own.section(Limits, "plugin", name)
    said = {
        field: getattr(own, field) for field in Limits.__struct_fields__ if config.own.origin("plugin", name, field)
    }
    kept = {field: min(limit, getattr(limits, field) or limit) for field, limit in said.items() if limit}
    return replace(limits, **kept)


class TimeLimit:
    """Ends a turn in the middle of whatever it does, when its time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._clocks: dict[str, ExitStack] = {}

    async def watch(self, next: Callable[[Proposal], Awaitable[Enter | Reject]], proposal: Proposal) -> Enter | Reject:
        """Set the clock when a turn begins; it is put away when the turn ends."""
        if proposal.step == 1:
            self._set(proposal.agent, proposal.turn)
        return await next(proposal)

    def close(self) -> None:
        """Put every clock away."""
        for id in list(self._clocks):
            self._put_away(id)

    def _set(self, agent: Agent, turn: int) -> None:
        """Set the clock of a turn, until it or its agent ends."""
        clock = self._clocks[agent.id] = ExitStack()
        timer = asyncio.get_running_loop().call_later(self._seconds, self._stop, agent, turn)
        clock.callback(timer.cancel)  # it holds the agent
        clock.callback(agent.session.observe(partial(self._see, agent.id)))
        clock.enter_context(agent.scope.at_end(partial(self._put_away, agent.id)))

    def _see(self, id: str, event: Event) -> None:
        if event.type == "turn/end":
            self._put_away(id)

    def _put_away(self, id: str) -> None:
        if id in self._clocks:
            self._clocks.pop(id).close()

    def _stop(self, agent: Agent, turn: int) -> None:
        if agent.session.ledger.turns.open_turn == turn:
            agent.stop(Limit("time", self._seconds))


class CostLimit:
    """Ends a turn that has cost enough."""

    def __init__(self, cost: float, models: Models) -> None:
        self._cost = cost
        self._models = models

    async def met(self, progress: Progress) -> Limit | None:
        """Give the limit when the turn has met it."""
        spent: Spent = progress.agent.session.project("usage")
        models = _models_of(progress)
        used = (
            self._price(models.get(step, progress.agent.model), usage)
            for (turn, step), usage in spent.steps.items()
            if turn == progress.turn
        )
        return Limit("cost", self._cost) if sum(used) >= self._cost else None

    def _price(self, model: str, usage: Usage) -> float:
        provider, _, name = model.partition("/")
        price = self._models.catalogue.facts(provider, name).price
        return 0.0 if price is None else price.of(usage)


def _models_of(progress: Progress) -> dict[int, str]:
    """Give the model that answered each step of the turn, as `provider/model`."""
    sources = ((answer.step, answer.message.source) for answer in _answers(progress))
    return {step: f"{source.provider}/{source.model}" for step, source in sources if isinstance(source, ModelSource)}


@plugin(requires=(Models,))
async def limits(ctx: Context) -> AsyncIterator[None]:
    """Ends turns that take too many steps, tokens, seconds or too much money, or that repeat themselves."""
    settings = limits_from(ctx.config, ctx.name)
    ctx.on(BUDGET, settings.met)
    if settings.cost:
        ctx.on(BUDGET, CostLimit(settings.cost, ctx[Models]).met)
    if settings.time:
        clock = TimeLimit(settings.time)
        ctx.at_end(clock.close)
        ctx.on(PRE_STEP, clock.watch)
    yield
