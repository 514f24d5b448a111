"""The live agent: takes input at any time, and has the loop take turns while something pending asks for one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from everlog.agent import inbox
from everlog.agent.loop import limit_reason, take_turn
from everlog.agent.seam import TROUBLE, AbortKind, AgentEnded, Limit, OwnedAgent
from everlog.agent.step import Stepper
from everlog.compaction.seam import CompactionFailed, Compactor, Relief
from everlog.kernel import Scope
from everlog.llm.seam import Models, Route
from everlog.prompt.seam import Prompt
from everlog.session.messages import Message
from everlog.session.payloads import Reason
from everlog.session.views import json_raw
from everlog.store.seam import DurableSession, LeaseLost
from everlog.tools.seam import Tools

_log = logging.getLogger("everlog.agent")


class LiveAgent(OwnedAgent):
    """An agent around one session. What it does next is told by the inbox, and by whether it is asleep.

    It falls asleep, so that pending input wakes nothing, at its making, at a cancel and at an error; a followup,
    a steer and a wake wake it up.
    """

    def __init__(
        self, session: DurableSession, scope: Scope, models: Models, route: Route, tools: Tools, prompt: Prompt
    ) -> None:
        self._session = session
        self._scope = scope
        self._models = models
        self._stepper = Stepper(self, session, route, tools, prompt, session.when_durable, session.blobs)
        self._unpublish: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._asleep = True
        self._woken = False
        self._abort: Reason | None = None
        self._fatal: Exception | None = None
        self._disposal: asyncio.Task[None] | None = None
        scope.at_end(session.observe_trouble(self._meet_trouble))

    @property
    def session(self) -> DurableSession:
        """Give its session."""
        return self._session

    @property
    def scope(self) -> Scope:
        """Give its place."""
        return self._scope

    @property
    def model(self) -> str:
        """Give the model that the next request goes to."""
        return self._stepper.route.name

    def use_model(self, name: str) -> None:
        """Take another model from the next step on."""
        self._stepper.route = self._models.resolve(name)

    @property
    def running(self) -> bool:
        """Tell whether a turn or a compaction runs or is about to begin."""
        return self._task is not None

    @property
    def trouble(self) -> Exception | None:
        """Give why the loop waits, or what ended the agent."""
        return self._fatal or self._session.trouble

    # Input

    def followup(self, message: Message | str) -> str:
        """Queue a turn."""
        return self._put(message, "next-turn", wakes=True)

    def steer(self, message: Message | str) -> str:
        """Queue for the next step, and wake."""
        return self._put(message, "next-step", wakes=True)

    def inject(self, message: Message | str) -> str:
        """Queue for the next step."""
        return self._put(message, "next-step", wakes=False)

    def _put(self, message: Message | str, target: inbox.Target, wakes: bool) -> str:
        self._refuse_when_ended()
        put = inbox.put(self._session, message, target, wakes)
        if wakes:
            self.wake()
        return put.id

    def wake(self) -> None:
        """Wake up: what is pending begins a turn."""
        self._refuse_when_ended()
        self._asleep, self._woken = False, True
        self._begin()

    def _refuse_when_ended(self) -> None:
        if self._fatal is not None or self._disposal is not None:
            raise AgentEnded(self.id)

    def cancel(self, clear_inbox: bool = False, *, kind: AbortKind = "user", reason: str | None = None) -> None:
        """Fall asleep, and stop the running turn."""
        self._asleep, self._woken = True, False
        if clear_inbox:
            inbox.clear(self._session)
        if self._task is not None:
            said = {"kind": kind} if reason is None else {"kind": kind, "reason": reason}
            self._abort = self._abort or Reason(kind="aborted", reason_json=json_raw(said))
            self._task.cancel()

    def stop(self, limit: Limit) -> None:
        """End the running turn because of a limit."""
        if self._task is not None and self._session.ledger.turns.is_open:
            self._abort = self._abort or limit_reason(limit)
            self._task.cancel()

    async def compact(self, focus: str | None = None) -> Relief:
        """Have what the model sees shortened, at the next opportunity."""
        self._refuse_when_ended()
        if Compactor not in self._scope:
            raise CompactionFailed("no compaction is loaded; `everlog plugins` says what it waits for")
        outcome = self._stepper.asks.put(focus)
        self._begin()
        return await outcome

    # Turns

    def publish(self, publish: Callable[[LiveAgent], Callable[[], None]]) -> None:
        """Make the agent known, and let it begin turns: called once, when it is set up."""
        self._unpublish = publish(self)
        self._begin()

    def _begin(self) -> None:
        if self._task is None and self._unpublish is not None and (self._stepper.asks or self._is_due()):
            self._task = asyncio.create_task(self._take_turns(), name=f"agent {self.id}")
            self._task.add_done_callback(self._turns_ended)

    def _is_due(self) -> bool:
        if self._asleep:
            return False
        waiting = inbox.pending(self._session)
        return waiting.wakes or (self._woken and len(waiting) > 0)

    async def _take_turns(self) -> None:
        while self._stepper.asks or self._is_due():
            if self._stepper.asks:
                await self._stepper.work_off_asks()
                await self._session.when_durable()
                continue
            self._woken = False
            reason = await take_turn(self, self._session, self._stepper, self._why_aborted)
            self._asleep = self._asleep or reason.kind == "error"
            await self._end_turn()

    def _why_aborted(self) -> Reason:
        if self._abort is None:  # the event loop itself is being closed
            self._asleep = True
            return Reason(kind="aborted", reason_json=json_raw({"kind": "disposed"}))
        return self._abort

    async def _end_turn(self) -> None:
        """Make the turn durable; a cancellation, this turn's or a later one, ends here."""
        task = asyncio.current_task()
        if task is not None and task.cancelling() and self._abort is None:
            raise asyncio.CancelledError
        self._calm(task)
        try:
            await self._session.when_durable()
        except asyncio.CancelledError:
            if self._abort is None:
                raise
            self._calm(task)

    def _calm(self, task: asyncio.Task[None] | None) -> None:
        self._abort = None
        while task is not None and task.cancelling():
            task.uncancel()

    def _turns_ended(self, task: asyncio.Task[None]) -> None:
        self._task, self._abort = None, None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._break_down(error)
        else:
            self._begin()

    def _meet_trouble(self, trouble: Exception | None) -> None:
        """Hear from the store: it cannot write, it can again, or the lease is lost."""
        TROUBLE.emit(self._scope, self, trouble)
        if isinstance(trouble, LeaseLost):
            self._break_down(trouble)

    def _break_down(self, error: Exception) -> None:
        """End the agent: its log cannot be gone on with."""
        if self._fatal is not None:
            return
        self._fatal = error
        if not isinstance(error, LeaseLost):
            _log.error("the agent of session %s broke down", self.id, exc_info=error)
            TROUBLE.emit(self._scope, self, error)
        self._dispose()

    async def when_idle(self) -> None:
        """Wait for the end of the turns."""
        while self._task is not None:
            await asyncio.wait([self._task])
        if self._fatal is not None:
            raise self._fatal

    # The end

    async def dispose(self) -> None:
        """End the agent. When its session cannot be made durable this raises, and another call tries again."""
        await asyncio.shield(self._dispose())

    def _dispose(self) -> asyncio.Task[None]:
        if self._disposal is None or _failed(self._disposal):
            self._disposal = asyncio.create_task(self._wind_up(), name=f"end of agent {self.id}")
            self._disposal.add_done_callback(_failed)
        return self._disposal

    async def _wind_up(self) -> None:
        self._stepper.asks.drop(AgentEnded(self.id))
        self.cancel(kind="disposed")
        while self._task is not None:
            await asyncio.wait([self._task])
        unpublish, self._unpublish = self._unpublish, None
        if unpublish is not None:
            unpublish()
        await self._scope.close()
        await self._session.close()


def _failed(task: asyncio.Task[None]) -> bool:
    """Tell whether a task has ended and not well; its error counts as seen."""
    return task.done() and (task.cancelled() or task.exception() is not None)
