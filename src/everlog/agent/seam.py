"""What others hold of an agent, and the points at which they take part in its loop.

Faces and plugins look the service `Agents` up, and send input to the `Agent`s that it gives. What an agent did
is in its session, which is read by projections; an agent has no state of its own to show but whether it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from everlog.compaction.seam import Relief
from everlog.errors import EverlogError
from everlog.kernel import Emit, Scope, Serial, Waterfall
from everlog.session.header import Header
from everlog.session.jsonvalue import JSONObject
from everlog.session.live import Session
from everlog.session.messages import Message
from everlog.session.payloads import AssistantMessage
from everlog.session.records import Delta
from everlog.session.request import Request

AbortKind: TypeAlias = Literal["user", "parent", "hook", "disposed"]
"""Who stops a turn before its end."""

LimitKind: TypeAlias = Literal["steps", "tokens", "time", "cost", "repeated-call"]
"""What a turn may have too much of."""


class InputRefused(EverlogError):
    """Input that can never become part of a request. Nothing was changed."""


class AgentEnded(EverlogError):
    """The agent was disposed, or broke down; it takes no more input."""

    def __init__(self, id: str) -> None:
        super().__init__(f"the agent of session {id} has ended; resume the session to go on")
        self.id = id


class NoLoop(EverlogError):
    """No loop is loaded that could run an agent."""

    def __init__(self) -> None:
        super().__init__("no loop is loaded to run agents; `everlog plugins` says what it waits for")


class AgentNotFound(EverlogError, LookupError):
    """No live agent has this id.

    Attributes:
        id: the session id that was asked for.
    """

    def __init__(self, id: str) -> None:
        super().__init__(f"no agent runs session {id}; resume it first")
        self.id = id


class Agent(ABC):
    """A session with a loop around it. It belongs to the thread of its event loop."""

    @property
    @abstractmethod
    def session(self) -> Session:
        """Give its session, to be read and projected. Only the loop and the services it calls append to it."""

    @property
    @abstractmethod
    def scope(self) -> Scope:
        """Give its place: listeners, tools and prompt sections registered here are this agent's alone."""

    @property
    def id(self) -> str:
        """Give the id of its session."""
        return self.session.id

    @property
    @abstractmethod
    def model(self) -> str:
        """Give the model that the next request goes to, as `provider/model`."""

    @abstractmethod
    def use_model(self, name: str) -> None:
        """Send the requests from the next step on to another model.

        Raises what `Models.resolve` raises; then nothing was changed.
        """

    @abstractmethod
    def followup(self, message: Message | str) -> str:
        """Ask for a turn of its own: it begins when the turns before it have ended. Give the message's id.

        Raises:
            InputRefused: it is no user-role message with content, an input with its id is pending, or it
                holds an image or a file.
        """

    @abstractmethod
    def steer(self, message: Message | str) -> str:
        """Have a word in the running turn: it joins the next step, or begins a turn. As `followup` otherwise."""

    @abstractmethod
    def inject(self, message: Message | str) -> str:
        """Add context to the next step, whenever that comes: it begins nothing. As `followup` otherwise."""

    @abstractmethod
    def cancel(self, clear_inbox: bool = False, *, kind: AbortKind = "user", reason: str | None = None) -> None:
        """Stop the running turn; `when_idle` tells when it has stopped. Without one, nothing is stopped.

        What was said is kept, every call is answered, and the turn ends as `aborted` by `kind`, which a hook
        explains in `reason`. Pending input stays and wakes nothing until more comes or `wake` is called; with
        `clear_inbox` it is taken out, by events.
        """

    @abstractmethod
    def stop(self, limit: Limit) -> None:
        """End the running turn at once because it has had enough, as `limit`. Input that is pending goes on waking."""

    @abstractmethod
    def wake(self) -> None:
        """Begin a turn with the input that is pending, if there is any."""

    @abstractmethod
    async def compact(self, focus: str | None = None) -> Relief:
        """Have what the model sees shortened at the next opportunity: now, or before the running turn's next request.

        `focus` says what to keep above all. Give what that gained. `cancel` stops it as it stops a turn.

        Raises:
            CompactionFailed: it was not shortened, and is as it was; the text says why.
            AgentEnded: there is no next opportunity.
        """

    @abstractmethod
    async def when_idle(self) -> None:
        """Return when no turn and no compaction runs, and none is about to begin.

        Raises:
            EverlogError: what ended the agent, when it did not end well: the session's lease was lost.
        """

    @property
    @abstractmethod
    def running(self) -> bool:
        """Tell whether a turn runs or is about to begin."""

    @property
    @abstractmethod
    def trouble(self) -> Exception | None:
        """Give why the loop waits for the store, or what ended the agent; None when all is well."""


class OwnedAgent(Agent):
    """An agent as its maker has it: with the duty to end it. Also an async context manager that does."""

    @abstractmethod
    async def dispose(self) -> None:
        """Stop the loop and await it, unregister the agent, make its session durable, and give the lease back.

        A running turn ends as `aborted` by `disposed`. A second call waits for the first.
        """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.dispose()


SetUp: TypeAlias = Callable[[Agent], Awaitable[None] | None]
"""Prepares an agent before anybody else sees it: registers in its scope, or sends its first input."""


class Agents(ABC):
    """The service: makes agents and knows those that live. Each is known by the id of its session."""

    @abstractmethod
    async def create(
        self,
        model: str,
        *,
        cwd: str | Path | None = None,
        header: Header | dict[str, Any] | None = None,
        set_up: SetUp | None = None,
        below: Agent | None = None,
    ) -> OwnedAgent:
        """Begin a session, and give the agent that runs it.

        What was registered for the agent `below` which it stands holds for it too. `cwd` is made absolute and goes into
        the session's header, of which `header` may give more. When this raises, nothing was published and no session
        is left.

        Raises what `Models.resolve`, the store and `set_up` raise; NoLoop.
        """

    @abstractmethod
    async def resume(self, id: str, *, model: str | None = None, set_up: SetUp | None = None) -> OwnedAgent:
        """Give a new agent for a stored session, with the model that was used last unless another is named.

        Pending input wakes nothing until more comes or `Agent.wake` is called. When this raises, nothing was
        published, and the session's lease was given back.

        Raises what `Models.resolve`, the store (SessionNotFound, SessionBusy) and `set_up` raise; NoLoop.
        """

    @abstractmethod
    def get(self, id: str) -> Agent:
        """Give the live agent of a session. Raises AgentNotFound."""

    @abstractmethod
    def list(self) -> list[Agent]:
        """Give the live agents in the order in which they were made."""

    @abstractmethod
    def use(self, factory: AgentFactory) -> Callable[[], None]:
        """Have agents made by this factory; give what takes it back. The last one registered counts."""

    @abstractmethod
    def publish(self, agent: Agent) -> Callable[[], None]:
        """Make an agent known; give what takes it back. For factories, once an agent is set up."""


class AgentFactory(ABC):
    """Makes agents: what a loop registers with `Agents.use`. See `Agents` for what is promised."""

    @abstractmethod
    async def create(self, model: str, header: Header, set_up: SetUp | None, below: Agent | None = None) -> OwnedAgent:
        """Begin a session with this header, and give the agent that runs it."""

    @abstractmethod
    async def resume(self, id: str, model: str | None, set_up: SetUp | None) -> OwnedAgent:
        """Give a new agent for a stored session."""


# The points of a turn, in their order.


@dataclass(frozen=True)
class Proposal:
    """What a step is about to enter.

    Attributes:
        agent: whose step it is.
        turn: the open turn.
        step: the step that is about to begin.
        messages: the input that would enter, in order.
        system: the system prompt of the step.
        tools: the tools that it offers, as `{name, description, parameters}`.
    """

    agent: Agent
    turn: int
    step: int
    messages: tuple[Message, ...]
    system: str
    tools: Sequence[JSONObject]


@dataclass(frozen=True)
class Enter:
    """Begin the step with these messages; a rewritten one keeps its id, and one left out is rejected for good."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Reject:
    """Begin no step: what was proposed is rejected for good, and the turn ends as `blocked`."""

    reason: str


PRE_STEP = Waterfall[[Proposal], Enter | Reject]("agent.pre-step")
"""Around the entering of input: the innermost enters all of it. A step that enters nothing new is asked too."""


@dataclass(frozen=True)
class Outgoing:
    """A request on its way to the provider.

    Attributes:
        agent: whose request it is.
        turn: the open turn.
        step: the open step.
        attempt: which try of the step's request.
        request: what the log says is sent.
    """

    agent: Agent
    turn: int
    step: int
    attempt: int
    request: Request


DISPATCH = Waterfall[[Outgoing], AsyncIterator[Delta]]("agent.dispatch")
"""Around a request: a listener may look, measure, wait, or refuse by answering with a stream of its own.

Inside all listeners stands the check that the request is what the log says; one that was changed is stopped.
"""


@dataclass(frozen=True)
class SideOutgoing:
    """A request that belongs to no step, on its way to the provider.

    Attributes:
        session: the session that it is logged in.
        id: the id of its `request/side`.
        purpose: what for: `summary`, `title`.
        request: what the log says is sent.
    """

    session: Session
    id: str
    purpose: str
    request: Request


SIDE_DISPATCH = Waterfall[[SideOutgoing], AsyncIterator[Delta]]("agent.side-dispatch")
"""Around a side request, as `DISPATCH` is around a step's; the same check stands inside."""


@dataclass(frozen=True)
class Stopping:
    """A turn that owes nothing more.

    Attributes:
        agent: whose turn it is.
        turn: the open turn.
        steps: how many steps it has had.
        answer: the answer of the last one.
        reason: the kind of the turn's end, `completed` or `max-tokens`.
    """

    agent: Agent
    turn: int
    steps: int
    answer: AssistantMessage
    reason: str


TURN_STOPPING = Serial[[Stopping], Message]("agent.turn-stopping")
"""A turn is about to end: the first listener that answers with a message has it go on with that as input."""


@dataclass(frozen=True)
class Progress:
    """A turn that is about to take another step.

    Attributes:
        agent: whose turn it is.
        turn: the open turn.
        steps: how many steps it has had.
        started_seq: the seq of its `turn/start`; what it used is in the events from there on.
        elapsed: seconds since it began.
    """

    agent: Agent
    turn: int
    steps: int
    started_seq: int
    elapsed: float


@dataclass(frozen=True)
class Limit:
    """The turn has had enough: it ends with this reason.

    Attributes:
        which: of what.
        value: the limit, as configured.
    """

    which: LimitKind
    value: int | float


BUDGET = Serial[[Progress], Limit]("agent.budget")
"""May the turn take another step? The first listener that answers ends it."""

TROUBLE = Emit[[Agent, Exception | None]]("agent.trouble")
"""The loop waits for the store because of this failure; None when it goes on."""
