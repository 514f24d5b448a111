"""The stored recording: a session of a store, opened for reading."""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn, Self

from everlog.session.errors import RuleViolation
from everlog.session.eventlist import EventList
from everlog.session.header import Header
from everlog.session.recording import Recording
from everlog.session.rules.checking import check
from everlog.session.vocabulary import Vocabulary
from everlog.store.backend import Torn
from everlog.store.durable import Blobs
from everlog.store.errors import StoreError
from everlog.store.events import StoredEvents


class StoredRecording(Recording):
    """A session as it was when it was opened. Its events are read from the store as they are asked for.

    Attributes:
        running: whether a living writer holds it; its open turn, if there is one, is shown as running then.
        unknown_types: the event types, not ignorable, that this build does not know.
        torn: what stands at its end and is no whole record, or None.
        stored: how many events are stored; those after them were computed, to close a turn that a crash left open.
    """

    running: bool = False
    unknown_types: tuple[str, ...] = ()
    torn: Torn | None = None
    stored: int = 0

    def __init__(self, header: Header, vocabulary: Vocabulary, events: StoredEvents, blobs: Blobs) -> None:
        super().__init__(header, (), vocabulary)
        self._source = events
        self._blobs = blobs
        self._judged: tuple[RuleViolation, ...] | None = None

    @property
    def blobs(self) -> Blobs:
        """Give the blobs of the store."""
        return self._blobs

    @property
    def violations(self) -> tuple[RuleViolation, ...]:
        """Give everything that the stored events break, in order; the whole log is read for it, once."""
        if self._judged is None:
            whole = Recording(self.header, (), self.vocabulary)
            whole._events = EventList([], self._source, self.stored)
            self._judged = tuple(check(whole))
        return self._judged

    def append(self, *_: object, **__: object) -> NoReturn:
        """Refuse: it was opened for reading."""
        raise StoreError(f'session {self.id} was opened for reading; open it with "write" to append')

    append_json = append

    async def flush(self) -> None:
        """Do nothing: there is nothing to write."""

    async def close(self) -> None:
        """Let go of the stored events; those that are asked for later cannot be read."""
        self._source.reader.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
