"""The neutral request: what goes to a model before any adapter gives it a provider's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from everlog.session.messages import Message
from everlog.session.payloads import RequestHeader


class Request(msgspec.Struct, frozen=True):
    """A request: a header and the messages. A pure function of the surface and header in force.

    Attributes:
        header: configuration and tools.
        messages: what the model sees, in order, the system prompt among them.
    """

    header: RequestHeader
    messages: Sequence[Message]

    @property
    def config(self) -> dict[str, Any]:
        """Give provider, model and every option that shapes the body; decoded afresh."""
        return cast("dict[str, Any]", self.header.config)

    @property
    def provider(self) -> str:
        """Give the name of the provider."""
        return str(self.config["provider"])

    @property
    def model(self) -> str:
        """Give the name of the model, as the provider knows it."""
        return str(self.config["model"])

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Give the tools offered, as `{name, description, parameters}`; decoded afresh."""
        found = self.header.tools
        return cast("list[dict[str, Any]]", found) if isinstance(found, list) else []

    def to_json(self) -> bytes:
        """Give the canonical JSON: `{"header":…,"messages":[…]}` from the parts' own bytes."""
        messages = b",".join(message.to_json() for message in self.messages)
        return b'{"header":%b,"messages":[%b]}' % (self.header.to_json(), messages)
