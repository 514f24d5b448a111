"""The recording of a foreign file."""

from __future__ import annotations

from collections.abc import Iterable

from everlog.session.event import Event
from everlog.session.header import Header
from everlog.session.recording import Recording
from everlog.session.vocabulary import CORE, Vocabulary


class DshRecording(Recording):
    """A log of DeepSeek Harness.

    Attributes:
        version: the version of the format that the file has.
        committed_bytes: how many leading bytes of the file were accepted; what follows is a torn tail.
        torn_bytes: how many bytes follow.
    """

    def __init__(
        self,
        header: Header,
        events: Iterable[Event],
        version: int,
        committed_bytes: int,
        torn_bytes: int,
        vocabulary: Vocabulary = CORE,
    ) -> None:
        super().__init__(header, events, vocabulary)
        self.version = version
        self.committed_bytes = committed_bytes
        self.torn_bytes = torn_bytes
