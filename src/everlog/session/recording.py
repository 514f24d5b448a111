"""The recording: a log that can be looked at but not appended to."""

from __future__ import annotations

from collections.abc import Iterable

from everlog.session.errors import RuleViolation
from everlog.session.event import Event
from everlog.session.header import Header
from everlog.session.log import Log
from everlog.session.rules.checking import judge
from everlog.session.vocabulary import CORE, Vocabulary


class Recording(Log):
    """A foreign, damaged or older log. It takes in whatever events it is given, and lists what they break."""

    def __init__(self, header: Header, events: Iterable[Event], vocabulary: Vocabulary = CORE) -> None:
        super().__init__(header, vocabulary)
        self._violations: list[RuleViolation] = []
        for event in events:
            data, broken = judge(event, self._ledger, self._surface, self._read)
            self._violations += broken
            self._take_in(event, data)

    @property
    def violations(self) -> tuple[RuleViolation, ...]:
        """Give everything that the events break, in order."""
        return tuple(self._violations)
