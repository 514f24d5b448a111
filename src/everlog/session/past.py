"""The past of a log: the surface, the messages and the header as they were at a seq."""

from __future__ import annotations

from collections.abc import Iterable

from everlog.session.log import Log
from everlog.session.messagelist import Messages, message_of
from everlog.session.messages import Message
from everlog.session.payloads import RequestHeader, RequestHeaderEvent, RequestSent
from everlog.session.surface import Surface


class Past:
    """Reads what was in force at any seq of a log, and reads no message twice."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._messages: dict[int, Message | None] = {}
        self._whole: Surface | None = None

    def surface(self, seq: int) -> Surface:
        """Give the surface as it was after the event `seq`; to be read only."""
        surface = self._whole or self._log.surface
        if surface.stood_at(seq):
            return surface
        if surface.since > 0:
            surface = self._whole = self._folded()
        return surface.at(seq)

    def _folded(self) -> Surface:
        """Fold the surface from the start of the log, for one that was opened from a checkpoint."""
        surface = Surface()
        for event in self._log.events:
            surface.apply(event)
        return surface

    def messages(self, seq: int) -> Messages:
        """Give what the model saw after the event `seq`."""
        if self._log.surface.stood_at(seq):
            return self._log.messages()
        nodes = self.surface(seq).nodes
        self._read(node for node in nodes if node not in self._messages)
        return Messages([message for node in nodes if (message := self._messages[node]) is not None])

    def _read(self, missing: Iterable[int]) -> None:
        for event in self._log.events.pick(missing):
            self._messages[event.seq] = message_of(event)

    def header(self, seq: int | None) -> RequestHeader | None:
        """Give the header of the request/header event at `seq`; None when there is none or it is malformed."""
        data = None if seq is None else self._log.events[seq].data
        return data.header if isinstance(data, RequestHeaderEvent) else None

    def sent(self, seq: int | None) -> RequestSent | None:
        """Give the payload of the request/sent event at `seq`, or None."""
        data = None if seq is None else self._log.events[seq].data
        return data if isinstance(data, RequestSent) else None
