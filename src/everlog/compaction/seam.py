"""The seam of compaction: the loop says when room is wanted, whoever provides the service makes it.

A second seam lies inside the first: a `Summariser` writes the text that a run of messages is replaced by.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from everlog.errors import EverlogError
from everlog.kernel import Scope
from everlog.llm.seam import Route
from everlog.session.live import Session
from everlog.session.payloads import RequestHeader, Usage

Trigger: TypeAlias = Literal["window", "overflow", "command"]
"""A request is about to be made; the provider said that the one before was too long; a person asks for it."""


class CompactionFailed(EverlogError):
    """What the model sees could not be shortened; it is as it was.

    Attributes:
        code: why, for programs.
        usage: the tokens that the try cost, when they are known.
    """

    code = "COMPACTION_FAILED"

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class NothingToCompact(CompactionFailed):
    """There is nothing that a summary could stand for: too little was said, or nothing of it may be left out."""

    code = "NOTHING_TO_COMPACT"

    def __init__(self) -> None:
        super().__init__("there is nothing to shorten: what could be left out is too little to be worth a summary")


@dataclass(frozen=True, kw_only=True)
class Occasion:
    """Where a session stands when room is wanted.

    Attributes:
        session: the session; a step is open for `window`, only the turn for `overflow`, any or none for `command`.
        scope: the agent's scope.
        route: where the next request goes to.
        header: what it offers besides its messages.
        trigger: why room is wanted.
        focus: with `command`, what the person wants to be kept above all.
        command: with `command`, the id of the command.
    """

    session: Session
    scope: Scope
    route: Route
    header: RequestHeader
    trigger: Trigger
    focus: str | None = None
    command: str | None = None


@dataclass(frozen=True)
class Relief:
    """What was gained, in tokens as the meter has them.

    Attributes:
        before: what the model saw.
        after: what it sees now.
        pruned: how many results lost their middle.
        summarised: how many messages were replaced by a summary.
    """

    before: int
    after: int
    pruned: int = 0
    summarised: int = 0


class Compactor(ABC):
    """The service, looked up from the agent's scope. Without one, nothing is made room for."""

    @abstractmethod
    async def make_room(self, occasion: Occasion) -> Relief | None:
        """Shorten what the model sees, if the occasion asks for it; give what that gained, or None.

        Guarantees: when this returns or raises, also when it is cancelled, no compaction of its own is open; the
        log is the same but for what it appended; a `window` occasion raises nothing but cancellation.

        Raises:
            CompactionFailed: with `command`; why nothing was shortened.
        """


@dataclass(frozen=True)
class Summary:
    """What a summariser gives.

    Attributes:
        text: the summary.
        provider: who wrote it, `template` without a model.
        model: which model, or the name of the template.
        usage: the tokens that it cost, when a model was asked.
    """

    text: str
    provider: str
    model: str
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What is to be summarised.

    Attributes:
        occasion: the session, and where it stands.
        compaction_id: the compaction that the summary is for.
        nodes: the seqs of the surface that it will stand for, in order.
        keeps: how many nodes after them stay as they are.
        tokens: how long the summary may be.
    """

    occasion: Occasion
    compaction_id: str
    nodes: Sequence[int]
    keeps: int
    tokens: int


class Summariser(ABC):
    """Writes summaries. One that a plugin provides in an agent's scope takes the place of the configured one."""

    @abstractmethod
    async def summarise(self, assignment: Assignment) -> Summary:
        """Give the summary.

        Raises:
            CompactionFailed, ModelFailure: there is none.
        """
