"""The seam of compaction: the loop says when room is wanted, whoever provides the service makes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias

from everlog.kernel import Scope
from everlog.session.live import Session
from everlog.session.payloads import RequestHeader

Trigger: TypeAlias = Literal["window", "overflow"]
"""A request is about to be made; or the provider said that the one before was too long."""


@dataclass(frozen=True, kw_only=True)
class Occasion:
    """Where a turn stands when room is wanted.

    Attributes:
        session: the session; a step is open for `window`, and only the turn for `overflow`.
        scope: the agent's scope.
        header: what the next request offers besides its messages.
        context_window: the capacity of its route in tokens, when it is known.
        trigger: why room is wanted.
    """

    session: Session
    scope: Scope
    header: RequestHeader
    context_window: int | None
    trigger: Trigger


class Compactor(ABC):
    """The service, looked up from the agent's scope. Without one, nothing is made room for."""

    @abstractmethod
    async def make_room(self, occasion: Occasion) -> bool:
        """Shorten what the model sees, if the occasion asks for it; tell whether it did.

        Guarantees: when this returns or raises, also when it is cancelled, no compaction of its own is open.
        """
