"""The seam of tools: what a tool is, what it is given, what it gives, and the service that runs calls.

A tool is a function of ordinary Python that `everlog.tools.declare.tool` turns into a `Tool`. The loop sees
only the `Tools` service: it asks for the schemas of what is offered, and hands over the calls of one answer.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from everlog.errors import EverlogError
from everlog.kernel import Registration, Scope
from everlog.session.jsonvalue import JSON, JSONObject
from everlog.session.live import Session
from everlog.session.log import Log
from everlog.session.messages import Block, Text, ToolCall
from everlog.session.payloads import ToolError
from everlog.session.views import View
from everlog.tools.environment import without_secrets

Effects: TypeAlias = Literal["read-only", "idempotent", "mutating"]
"""What running a call changes: nothing; something, but the same when it runs twice; something each time."""

Verdict: TypeAlias = Literal["confirmed", "absent", "unknown"]
"""What a look at the world says about a call whose result was lost."""


class Blobs(Protocol):
    """Where large or binary content goes; the log keeps only its hash."""

    def put(self, data: bytes) -> str:
        """Keep the bytes, and give the hash that `get` and blocks name them by."""
        ...

    def get(self, blob: str) -> bytes:
        """Give the bytes of a hash. Raises LookupError when there are none."""
        ...


class ToolFailure(EverlogError):
    """Raised by a tool to say that it could not do what was asked, in words that the model can act on.

    Attributes:
        code: what went wrong, for programs.
        reason: more of it, for people; None when the message says all.
        meta: JSON for presentation, as in `ToolOutput`.
    """

    def __init__(self, message: str, code: str = "TOOL_FAILED", reason: str | None = None, meta: JSON = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.meta = meta


class ArgumentsInvalid(ToolFailure):
    """The arguments of a call are not JSON, no object, or do not fit the tool's parameters."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "INVALID_ARGUMENTS")


@dataclass(frozen=True)
class ToolOutput:
    """What one call gave.

    Attributes:
        content: what the model sees.
        meta: the tool's own JSON for presentation (a diff, an exit code); the model does not see it.
        error: the class and code of a failure; None when the call succeeded.
    """

    content: tuple[Block, ...]
    meta: JSON = None
    error: ToolError | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, Text))


def output(text: str, meta: JSON = None) -> ToolOutput:
    """Give the output of a call that succeeded with text."""
    return ToolOutput((Text(text=text),), meta)


def failure(text: str, code: str, reason: str | None = None, meta: JSON = None) -> ToolOutput:
    """Give the output of a call that failed; `code` is UPPER_CASE, and names the error's class as well."""
    name = "".join(part.capitalize() for part in code.split("_")) + "Error"
    return ToolOutput((Text(text=text),), meta, ToolError(name=name, code=code, reason=reason))


def _record_nothing(payload: View) -> None:
    raise RuntimeError("this call runs outside a session; there is no log to record in")


def _as_it_is(text: str) -> str:
    return text


async def _nothing_to_flush() -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """What a running call may use. A tool names it as a parameter of this type; the model never sees it.

    Attributes:
        cwd: the folder that relative paths start from: the session's workspace.
        call_id: the id of the call.
        session: the session's log, to be read; None outside a session.
        scope: the agent's scope, where services are looked up; None outside an agent.
        blobs: where large output goes; None where nothing keeps blobs.
        environ: the environment for commands: this process's, without secrets.
        redact: takes the values of secrets out of a text. Every output passes it; a tool that shortens text itself
            calls it before, since a half of a secret is not recognised.
        cancelled: set when the call is to stop. Only a function that is not async needs to look at it.
        record: appends a log-only payload to the session (a `TodoWrite`); safe from any thread.
        flush: returns when everything appended so far is durable.
    """

    cwd: Path
    call_id: str = ""
    session: Log | None = None
    scope: Scope | None = None
    blobs: Blobs | None = None
    environ: Mapping[str, str] = field(default_factory=without_secrets)
    redact: Callable[[str], str] = _as_it_is
    cancelled: threading.Event = field(default_factory=threading.Event)
    record: Callable[[View], None] = _record_nothing
    flush: Callable[[], Awaitable[None]] = _nothing_to_flush


Probe: TypeAlias = Callable[[ToolContext, JSONObject], Awaitable[Verdict]]
"""Looks at the world for the effect of a call with these arguments, and changes nothing."""

Arguments: TypeAlias = "dict[str, object]"
"""Checked arguments by parameter name, as the function gets them."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool.

    Attributes:
        name: what the model calls it by.
        description: what the model is told of it.
        parameters: the JSON schema of its arguments, an object's.
        check: turns the model's JSON object into arguments. Raises ArgumentsInvalid.
        invoke: runs the call; may raise anything.
        effects: what running it changes.
        parallel_safe: whether it may run beside other parallel-safe calls of one answer.
        timeout: seconds after which it is stopped; None when it minds its own time.
        paths: the parameters that name files or folders; permissions look at where they lead.
        subject: the parameter that permission rules match their pattern with; None where it is the paths.
        network: whether a call reaches out of this machine.
        by_parts: whether all that a call does is done by calls of other tools, of which each is permitted, or not, by
            itself. The call as such is not asked about, whatever it may change.
        probe: tells whether a call took effect whose result was lost.
    """

    name: str
    description: str
    parameters: JSONObject
    check: Callable[[JSONObject], Arguments]
    invoke: Callable[[ToolContext, Arguments], Awaitable[ToolOutput]]
    effects: Effects = "mutating"
    parallel_safe: bool = False
    timeout: float | None = None
    paths: tuple[str, ...] = ()
    subject: str | None = None
    network: bool = False
    by_parts: bool = False
    probe: Probe | None = None

    def schema(self) -> JSONObject:
        """Give what a request offers: `{name, description, parameters}`."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    async def __call__(self, context: ToolContext, **arguments: object) -> ToolOutput:
        """Run a call with JSON arguments, for programs and tests; raises what the tool raises."""
        return await self.invoke(context, self.check(dict(arguments)))  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What the loop hands over with the calls of one answer.

    Attributes:
        session: the session whose open step asked for them.
        scope: the agent's scope.
        cwd: the folder that relative paths start from.
        flush: returns when everything appended so far is durable.
        blobs: where large output goes.
    """

    session: Session
    scope: Scope
    cwd: Path
    flush: Callable[[], Awaitable[None]]
    blobs: Blobs | None = None


class Tools(ABC):
    """The service: which tools there are, and the way to run calls of them."""

    @abstractmethod
    def add(self, tool: Tool, scope: Scope | None = None) -> Registration:
        """Offer a tool where `scope` stands and below, until it ends; without one, everywhere.

        A tool of the same name further out, or added earlier, is hidden by it. Raises ScopeClosed.
        """

    @abstractmethod
    def offered(self, scope: Scope | None = None) -> list[Tool]:
        """Give the tools that are seen from a scope, in the order of their names."""

    def schemas(self, scope: Scope | None = None) -> list[JSONObject]:
        """Give what a request offers, in the order of the names, so that equal sets give equal bytes."""
        return [tool.schema() for tool in self.offered(scope)]

    @abstractmethod
    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run one call and give its output, whatever happens: a failure is an output with an `error`.

        Codes: UNKNOWN_TOOL, INVALID_ARGUMENTS, PERMISSION_DENIED, TOOL_TIMEOUT, TOOL_FAILED, and those of the
        tools themselves. The content is bounded and safe to log. Raises only CancelledError, when the caller
        is cancelled.
        """

    @abstractmethod
    async def answer(self, calls: Sequence[ToolCall], bench: Bench) -> None:
        """Work off the calls of the open step, and append what becomes of them.

        For each call in its turn: `tool/call`, approval events, a flush before it runs unless it only reads,
        then its `tool/result`, in call order; a result that is early is kept by a `tool/settled`. Exclusive
        calls are barriers; parallel-safe ones run together up to a bound.

        When this returns or raises, every call is answered. Raises CancelledError when the caller is cancelled:
        calls that ran are then answered TOOL_CANCELLED, those that would not stop within a grace time
        TOOL_ABANDONED, those not begun TOOL_NOT_STARTED. Raises what `flush` or `append` raises.
        """

    @abstractmethod
    async def probe(self, call: ToolCall, context: ToolContext) -> Verdict:
        """Look at the world for the effect of a call whose result was lost; "unknown" where nothing can tell."""


Answered: TypeAlias = Literal["allowed-once", "allowed-always", "rejected", "cancelled", "unavailable"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a person is asked before a call may run.

    Attributes:
        id: the id of its `approval/asked`.
        tool: the name of the tool.
        call_id: the id of the call.
        arguments: the checked JSON arguments.
        reason: why it is asked, in words.
        subject: what a rule would match: the command, the path, the address.
        rule: the rule that "always" would add, as `tool(pattern)`; None when "always" is not on offer.
    """

    id: str
    tool: str
    call_id: str
    arguments: Mapping[str, JSON]
    reason: str
    subject: str = ""
    rule: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a person said.

    Attributes:
        outcome: only `allowed-once` and `allowed-always` grant.
        for_good: with `allowed-always`, whether the rule goes into the configuration file as well.
        note: words for the model, with a rejection.
    """

    outcome: Answered
    for_good: bool = False
    note: str | None = None


class Approver(ABC):
    """The service that puts permission questions to a person. Without one, the answer is no.

    It is looked up from the agent's scope at each question, so a face may provide it for one agent.
    """

    @abstractmethod
    async def approve(self, question: Question) -> Answer:
        """Ask, and give the answer. Cancelled when the call is; what it raises counts as `unavailable`."""


class Respondent(ABC):
    """The service that puts a model's own question to a person, for the tool `ask_user`."""

    @abstractmethod
    async def respond(self, question: str, choices: Sequence[str]) -> str:
        """Ask, and give the answer in the person's words, which need not be one of the choices."""
