"""Side requests: what is asked of a model beside the steps of a conversation, like a summary or a title.

They are logged as steps' requests are: with the digest of their body, made durable before they go out, and
checked against the log. So they can be derived again from it, byte for byte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from everlog.kernel import Scope
from everlog.llm.route import Route
from everlog.session.live import Session
from everlog.session.messages import Message
from everlog.session.payloads import RequestHeader, Usage


@dataclass(frozen=True, kw_only=True)
class Aside:
    """What to ask.

    Attributes:
        session: the session that it belongs to, and that it is logged in.
        scope: the agent's scope.
        route: whom to ask.
        header: what shapes the request besides its messages; the conversation's own has a provider's cache hit.
        purpose: what for, in a word: `summary`, `title`.
        messages: what is asked, after the prefix.
        prefix: `surface` for what the model sees now, `none` for nothing.
        compaction_id: the compaction that it belongs to, if it does to one.
    """

    session: Session
    scope: Scope
    route: Route
    header: RequestHeader
    purpose: str
    messages: Sequence[Message]
    prefix: Literal["surface", "none"] = "none"
    compaction_id: str | None = None


@dataclass(frozen=True)
class SideAnswer:
    """What came back.

    Attributes:
        id: the id of the `request/side`.
        message: the answer; it is not in the log unless whoever asked puts it there.
        usage: the tokens, when the provider told them.
        finish_reason: why the answer ended (see `everlog.llm.deltas`).
    """

    id: str
    message: Message
    usage: Usage | None
    finish_reason: str | None


class SideRequests(ABC):
    """The service."""

    @abstractmethod
    async def ask(self, aside: Aside) -> SideAnswer:
        """Log the request, make the log durable, send it, and give the answer.

        Guarantees: nothing goes out before the log that describes it is durable, nor what the log does not
        describe; what failed for a while is tried again as the policy of `RETRY` has it, each try with a
        `request/side` of its own. Nothing but `request/side` is appended.

        Raises:
            ModelFailure: there is no answer.
        """
