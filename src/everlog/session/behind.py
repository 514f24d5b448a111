"""What stores the events of a log behind it, as the log knows it: a place to add them to, and when to say so."""

from __future__ import annotations

from typing import Protocol

from everlog.session.event import Event


class Behind(Protocol):
    """What stores the events of a log behind it.

    The log adds each event by itself, and calls only now and then: a call for each would be felt at every append.

    Attributes:
        added: the events that it has not looked at yet; the log adds to it.
        stir_at: the log calls `stir` with the first event that has this seq or a later one.
    """

    added: list[Event]
    stir_at: int

    def stir(self, seq: int) -> None:
        """Look at what was added, up to the event `seq`."""
        ...
