"""The messages that the model sees, as views that stay what they were while the log goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import overload

from everlog.session.event import Event
from everlog.session.messages import Message


class Messages(Sequence[Message]):
    """An immutable sequence of messages; a prefix of a list that only grows."""

    __slots__ = ("_length", "_shared")

    def __init__(self, shared: list[Message], length: int | None = None) -> None:
        self._shared = shared
        self._length = len(shared) if length is None else length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._shared[i] for i in range(*index.indices(self._length))]
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(index)
        return self._shared[at]

    def __iter__(self) -> Iterator[Message]:
        return islice(iter(self._shared), self._length)

    def grows_from(self, earlier: Messages) -> bool:
        """Tell whether this view is the earlier one with messages added at its tail; without looking at any."""
        return self._shared is earlier._shared and self._length >= earlier._length

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Messages) and self._shared is other._shared and self._length == other._length:
            return True
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Messages: {self._length}>"


def message_of(event: Event) -> Message | None:
    """Give the message of a surface event; None for one that yields none.

    An answer without content stays a node and yields no message, and so does foreign data that is no message.
    """
    data = event.data
    message = data if isinstance(data, Message) else getattr(data, "message", None)
    return visible(message) if isinstance(message, Message) else None


def visible(message: Message) -> Message | None:
    """Give the message, or None for an answer without content."""
    return message if message.content or message.role != "assistant" else None


_SPARE = 1_000
"""So many shadowed messages are kept in any case."""


class MessageCache:
    """The messages of the nodes of a surface, kept in step with it at the cost of what changes."""

    def __init__(
        self,
        read: Callable[[Iterable[int]], Iterator[Event]],
        known: Mapping[int, Message | None] | None = None,
        known_before: int = 0,
    ) -> None:
        """Read events with `read`; `known`, a fork's parent's, goes on, but holds the same below `known_before`."""
        self._read = read
        self._known = known or {}
        self._known_before = known_before
        self._by_seq: dict[int, Message | None] = {}
        self._shared: list[Message] | None = None
        self.joined: list[int] = []
        """Nodes that joined the tail; their messages are read when they are asked for."""

    def rewritten(self) -> None:
        """Take in a change elsewhere; views given before keep the list that they have."""
        self._shared = None
        self.joined = []

    def view(self, nodes: Sequence[int]) -> Messages:
        """Give the messages of these nodes, which are the surface's."""
        if self._shared is None:
            self._forget(nodes)
            self._load(nodes)
            found = self._by_seq
            self._shared = [message for seq in nodes if (message := found[seq]) is not None]
        elif self.joined:
            self._load(self.joined)
            found = self._by_seq
            self._shared += [message for seq in self.joined if (message := found[seq]) is not None]
        self.joined = []
        return Messages(self._shared)

    def _forget(self, nodes: Sequence[int]) -> None:
        """Let go of shadowed messages, once they are more than those in view: so it costs little at a time."""
        if len(self._by_seq) > 2 * len(nodes) + _SPARE:
            held = self._by_seq
            self._by_seq = {seq: held[seq] for seq in nodes if seq in held}

    def _load(self, nodes: Iterable[int]) -> None:
        held, known = self._by_seq, self._known
        missing = [seq for seq in nodes if seq not in held]
        if known:
            held.update({seq: known[seq] for seq in missing if seq < self._known_before and seq in known})
            missing = [seq for seq in missing if seq not in held]
        for event in self._read(missing):
            held[event.seq] = message_of(event)

    def copy(self, read: Callable[[Iterable[int]], Iterator[Event]], before: int) -> MessageCache:
        """Give a cache for a fork that inherits the seqs below `before`; it takes the messages of those from here."""
        return MessageCache(read, self._by_seq, before)
