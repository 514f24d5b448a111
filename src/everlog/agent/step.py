"""One step: what is entered, one request with its retries, and the calls that its answer asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from everlog.agent import inbox
from everlog.agent.asks import CompactionAsk, CompactionAsks
from everlog.agent.assembly import log_context, log_header, log_message, log_system_prompt, log_tool_changes
from everlog.agent.attempt import Attempt
from everlog.agent.boundary import Boundary
from everlog.agent.seam import PRE_STEP, Agent, Enter, Proposal, Reject
from everlog.compaction.seam import Compactor, NothingToCompact, Occasion, Relief, Trigger
from everlog.llm.seam import MAX_TOKENS, RETRY, FailedAttempt, ModelFailure, Route
from everlog.prompt.seam import Contexts, Prompt
from everlog.session.jsonvalue import JSONObject
from everlog.session.live import Session
from everlog.session.log import Log
from everlog.session.messages import Message
from everlog.session.payloads import AssistantMessage, LlmRetry, StepEnd, StepStart
from everlog.tools.seam import Bench, Blobs, Tools


@dataclass(frozen=True)
class Offer:
    """What a step's request offers besides its messages: the system prompt and the tools' schemas."""

    system: str
    tools: Sequence[JSONObject]


@dataclass(frozen=True)
class Outcome:
    """How a step came out.

    Attributes:
        answer: the model's answer; its calls are answered.
        cut: whether the model's output ceiling cut it.
    """

    answer: AssistantMessage
    cut: bool


class Stepper:
    """Takes the steps of one agent."""

    def __init__(
        self,
        agent: Agent,
        session: Session,
        route: Route,
        tools: Tools,
        prompt: Prompt,
        durable: Callable[[], Awaitable[None]],
        blobs: Blobs,
    ) -> None:
        self._agent = agent
        self._session = session
        self._tools = tools
        self._prompt = prompt
        self._durable = durable
        self._blobs = blobs
        self._boundary = agent.scope[Boundary]
        self.route = route
        """Where the next request goes to."""
        self.asks = CompactionAsks()
        """What people asked for beside turns; a step that begins works it off before its request."""

    def offer(self) -> Offer:
        """Assemble the prompt and the tools."""
        scope = self._agent.scope
        return Offer(self._prompt.render(scope, self._session.header), self._tools.schemas(scope))

    async def propose(self, turn: int, step: int, offer: Offer) -> Enter | Reject:
        """Put the pending input before the pre-step hook, and take out for good what it does not enter."""
        proposed = inbox.pending(self._session).proposal(step)
        messages = tuple(input.message for input in proposed)
        proposal = Proposal(self._agent, turn, step, messages, offer.system, offer.tools)
        decision = await PRE_STEP.around(self._agent.scope, _enter_all, proposal)
        if not isinstance(decision, Enter | Reject):
            raise TypeError(f"a pre-step listener answers Enter or Reject, not {decision!r}")
        entering = decision.messages if isinstance(decision, Enter) else ()
        kept = {message.id for message in entering}
        inbox.take_out(self._session, (input.id for input in proposed if input.id not in kept), "rejected")
        if isinstance(decision, Reject):
            return decision
        # What was taken out by somebody else while the hook thought about it is not entered after all.
        waiting = inbox.pending(self._session)
        gone = {input.id for input in proposed if input.id not in waiting}
        left = [message for message in entering if message.id not in gone]
        # Context goes with a step, and makes none where there is no input to begin a turn with.
        return Enter((*(self._context() if left or step > 1 else ()), *left))

    def _context(self) -> list[Message]:
        scope = self._agent.scope
        return scope[Contexts].due(scope, self._session) if Contexts in scope else []

    async def run(self, turn: int, step: int, offer: Offer, entering: Sequence[Message]) -> Outcome:
        """Take a step from its start to its end.

        When this raises, the step may be open.

        Raises:
            ModelFailure: there was no answer.
        """
        session = self._session
        session.append(StepStart(turn=turn, step=step))
        log_system_prompt(session, offer.system)
        log_tool_changes(session, offer.tools)
        for message in entering:
            log_message(session, message)
        await self.asks.work_off(lambda ask: self._compact(offer, ask))
        await self.make_room(offer, "window")
        outcome = await self._ask(offer)
        if outcome.answer.message.calls:
            await self._tools.answer(outcome.answer.message.calls, self._bench())
        session.append(StepEnd(turn=turn, step=step))
        return outcome

    async def make_room(self, offer: Offer, trigger: Trigger) -> Relief | None:
        """Have what the model sees shortened where that is due, and give what that gained, or None."""
        if Compactor not in self._agent.scope:
            return None
        return await self._agent.scope[Compactor].make_room(self._occasion(offer, trigger))

    async def work_off_asks(self) -> None:
        """Do what people asked for between turns."""
        offer = self.offer()
        await self.asks.work_off(lambda ask: self._compact(offer, ask))

    async def _compact(self, offer: Offer, ask: CompactionAsk) -> Relief:
        relief = await self._agent.scope[Compactor].make_room(self._occasion(offer, "command", ask))
        if relief is None:
            raise NothingToCompact
        return relief

    def _occasion(self, offer: Offer, trigger: Trigger, ask: CompactionAsk | None = None) -> Occasion:
        return Occasion(
            session=self._session,
            scope=self._agent.scope,
            route=self.route,
            header=self.route.header(offer.tools),
            trigger=trigger,
            focus=ask.focus if ask is not None else None,
            command=ask.command if ask is not None else None,
        )

    async def _ask(self, offer: Offer) -> Outcome:
        """Ask for the step's answer, as often as the retry policy has it."""
        tried: list[str] = []
        while True:
            route = self.route
            tried.append(route.name)
            log_header(self._session, route.header(offer.tools))
            log_context(self._session, route)
            attempt = Attempt(self._agent, self._session, self._boundary, route, self._blobs)
            try:
                answer = await attempt.run(self._durable)
            except ModelFailure as failure:
                await self._wait_for_retry(FailedAttempt(route, attempt.number, failure, tuple(tried)))
            else:
                return Outcome(answer, attempt.finish_reason == MAX_TOKENS)

    async def _wait_for_retry(self, failed: FailedAttempt) -> None:
        """Return when the next attempt is due; raise the failure when there shall be none."""
        attempts, turns = self._session.ledger.attempts, self._session.ledger.turns
        retry = await RETRY.ask(self._agent.scope, failed) if attempts.last == failed.attempt else None
        if retry is None:
            raise failed.failure
        self._session.append(
            LlmRetry(
                turn=turns.last,
                step=turns.step,
                attempt=failed.attempt,
                failure=failed.failure.to_payload(),
                delay_ms=retry.delay_ms,
            )
        )
        self.route = retry.route or self.route
        await asyncio.sleep(retry.delay_ms / 1000)

    def _bench(self) -> Bench:
        return Bench(
            session=self._session,
            scope=self._agent.scope,
            cwd=folder_of(self._session),
            flush=self._durable,
            blobs=self._blobs,
        )


async def _enter_all(proposal: Proposal) -> Enter | Reject:
    return Enter(proposal.messages)


def folder_of(log: Log) -> Path:
    """Give the folder that a session's tools work in: its own, or where this process is when it has none."""
    return Path(log.header.cwd) if log.header.cwd else Path.cwd()
