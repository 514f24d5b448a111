"""The loop: takes the turns of one agent. It owns the order, and none of the capabilities that it orders.

turn/start
  assemble prompt and tools, propose input -> pre-step hook
    rejected, or nothing to enter at the first step: the turn ends with no step
  step/start, system/message, developer/message (each if new or changed), then the entered user/messages
  compaction if the window asks for it
  request/header if due, request/context if changed -> request/sent -> flush -> dispatch -> chunks -> answer
  the calls, through the tools service
  step/end
  calls were made, or steering arrived: the next step; else the turn-stopping hook, and turn/end
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from itertools import count

from everlog.agent import inbox
from everlog.agent.closing import close_step, close_turn, failure_of
from everlog.agent.seam import BUDGET, TURN_STOPPING, Agent, Limit, Progress, Reject, Stopping
from everlog.agent.step import Offer, Outcome, Stepper
from everlog.llm.seam import CONTEXT_OVERFLOW, MAX_TOKENS, ModelFailure
from everlog.session.live import Session
from everlog.session.messages import Message
from everlog.session.payloads import Reason, TurnStart
from everlog.session.views import json_raw
from everlog.store.seam import LeaseLost

_log = logging.getLogger("everlog.agent")


async def take_turn(agent: Agent, session: Session, stepper: Stepper, aborted: Callable[[], Reason]) -> Reason:
    """Take one turn, and give the reason of its end.

    When it is cancelled, the turn ends for the reason that `aborted` gives, and the cancellation with it.

    Raises:
        LeaseLost: another process writes the session now; the turn is left as it is.
    """
    session.append(TurnStart(turn=session.ledger.turns.last + 1))
    try:
        reason = await Turn(agent, session, stepper).run()
    except asyncio.CancelledError:
        reason = aborted()
    except LeaseLost:
        raise
    except Exception as error:
        if not isinstance(error, ModelFailure):
            _log.exception("a turn of session %s failed", session.id)
        reason = Reason(kind="error", error=failure_of(error))
    close_turn(session, reason)
    return reason


class Turn:
    """The open turn of an agent."""

    def __init__(self, agent: Agent, session: Session, stepper: Stepper) -> None:
        self._agent = agent
        self._session = session
        self._stepper = stepper
        self._number = session.ledger.turns.last
        self._started_seq = session.next_seq - 1
        self._began = time.monotonic()
        self._ending = "completed"
        self._overflowed = False

    async def run(self) -> Reason:
        """Take steps until nothing more is owed, and give the reason of the end."""
        for step in count(1):
            limit = await self._limit(step - 1) if step > 1 else None
            if limit is not None:
                return limit_reason(limit)
            offer = self._stepper.offer()
            entering = await self._stepper.propose(self._number, step, offer)
            if isinstance(entering, Reject):
                return _blocked(entering)
            if step == 1 and not entering.messages:
                return Reason(kind="blocked")
            outcome = await self._step(step, offer, entering.messages)
            if outcome is not None and not await self._goes_on(step, outcome):
                break
        return Reason(kind=self._ending)

    async def _limit(self, steps: int) -> Limit | None:
        elapsed = time.monotonic() - self._began
        progress = Progress(self._agent, self._number, steps, self._started_seq, elapsed)
        return await BUDGET.ask(self._agent.scope, progress)

    async def _step(self, step: int, offer: Offer, entering: tuple[Message, ...]) -> Outcome | None:
        """Take a step; None when its request was too long, and room was made for a new try in the next one."""
        try:
            outcome = await self._stepper.run(self._number, step, offer, entering)
        except ModelFailure as failure:
            close_step(self._session)
            if failure.code != CONTEXT_OVERFLOW or self._overflowed:
                raise
            if not await self._stepper.make_room(offer, "overflow"):
                raise
            self._overflowed = True
            return None
        self._overflowed = False
        return outcome

    async def _goes_on(self, step: int, outcome: Outcome) -> bool:
        """Tell whether the turn owes another step."""
        if outcome.cut:
            self._ending = MAX_TOKENS
        if outcome.answer.message.calls or self._steered():
            return True
        stopping = Stopping(self._agent, self._number, step, outcome.answer, self._ending)
        message = await TURN_STOPPING.ask(self._agent.scope, stopping)
        if message is not None:
            inbox.put(self._session, message, "next-step", wakes=True)
        return self._steered()

    def _steered(self) -> bool:
        return any(input.wakes for input in inbox.pending(self._session).next_step)


def limit_reason(limit: Limit) -> Reason:
    """Give the reason of a turn that has had enough."""
    return Reason(kind="limit", which=limit.which, value_json=json_raw(limit.value))


def _blocked(by: Reject) -> Reason:
    return Reason(kind="blocked", reason_json=json_raw({"kind": "hook", "reason": by.reason}))
