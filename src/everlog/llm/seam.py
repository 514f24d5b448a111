"""The definition of a model provider, and what others of this program use of models.

An adapter speaks one protocol. It has two halves: `encode` makes the body from the neutral request, purely, so
that any process can derive it again from the log; `stream` sends exactly that body and gives neutral chunks
(`everlog.session.records.Delta`, made by the functions of `everlog.llm.deltas`). A route is a model ready to
be asked. The service `Models` gives routes by name.
"""

from __future__ import annotations

from dataclasses import dataclass

from everlog.kernel import Serial
from everlog.llm.adapter import Adapter, BlobReader, Encoder, WireProtocol
from everlog.llm.assembler import Assembler
from everlog.llm.deltas import MAX_TOKENS
from everlog.llm.failure import CONTEXT_OVERFLOW, ModelFailure
from everlog.llm.models import Models, ProviderUnavailable, UnknownModel, key_variables
from everlog.llm.route import Route
from everlog.llm.side import Aside, SideAnswer, SideRequests

__all__ = [
    "CONTEXT_OVERFLOW",
    "MAX_TOKENS",
    "RETRY",
    "Adapter",
    "Aside",
    "Assembler",
    "BlobReader",
    "Encoder",
    "FailedAttempt",
    "ModelFailure",
    "Models",
    "ProviderUnavailable",
    "Retry",
    "Route",
    "SideAnswer",
    "SideRequests",
    "UnknownModel",
    "WireProtocol",
    "key_variables",
]


@dataclass(frozen=True)
class FailedAttempt:
    """A try of a step's request that gave no answer."""

    route: Route
    attempt: int
    """Which try it was, from 1."""
    failure: ModelFailure
    tried: tuple[str, ...]
    """The names of the routes that this step has asked, one for each try, this one among them."""


@dataclass(frozen=True)
class Retry:
    """Try the same request again."""

    delay_ms: float
    """How long to wait before it, in milliseconds."""
    route: Route | None = None
    """Where to; None for the same route."""


RETRY = Serial[[FailedAttempt], Retry]("llm.retry")
"""Is a failed attempt made again? The first policy that answers decides; without an answer the turn ends."""
