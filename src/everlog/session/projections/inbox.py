"""The inbox: input that waits, in order, for each of its two targets.

Input enters it by a splice. It leaves when a user/message with its id joins the log, or by a splice whose
outcome says why. So every input is at each seq exactly one of pending, history, or taken out for a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.messages import Message
from everlog.session.payloads import InboxSpliced

InboxState: TypeAlias = "dict[str, Any]"

TARGETS = ("next-step", "next-turn")


class Pending:
    """One input that waits.

    Attributes:
        seq: the splice that inserted it.
        id: the id of its message, which it keeps when it enters.
        target: `next-turn` or `next-step`.
        position: its place in the queue of its target, from 0; what a splice calls `start`.
        wakes: whether it starts a turn when it arrives.
    """

    __slots__ = ("_at", "_log", "id", "position", "seq", "target", "wakes")

    def __init__(self, log: Log, target: str, position: int, row: list[Any]) -> None:
        self._log = log
        self.target, self.position = target, position
        self.seq: int = row[0]
        self._at: int = row[1]
        self.id: str = row[2]
        self.wakes: bool = row[3]

    @property
    def message(self) -> Message:
        """Give the message as it was put in."""
        spliced = cast("InboxSpliced", self._log.events[self.seq].data)
        return spliced.inserted[self._at].message

    def __repr__(self) -> str:
        return f"<Pending {self.id} for {self.target}>"


class Inbox:
    """The pending input at one seq; it stays as it is when the log goes on.

    Attributes:
        next_step: what joins the next step, in order.
        next_turn: what waits for a turn of its own, first in first out.
    """

    __slots__ = ("_entered", "_next_seq", "next_step", "next_turn")

    def __init__(
        self,
        next_step: tuple[Pending, ...],
        next_turn: tuple[Pending, ...],
        entered: Mapping[str, int] | None = None,
        next_seq: int = 0,
    ) -> None:
        self.next_step = next_step
        self.next_turn = next_turn
        self._entered = entered or {}
        self._next_seq = next_seq

    def is_history(self, id: str) -> bool:
        """Tell whether a user/message with this id is in the log already. Costs the same however long that is."""
        return self._entered.get(id, self._next_seq) < self._next_seq

    @property
    def wakes(self) -> bool:
        """Tell whether some of it starts a turn."""
        return any(pending.wakes for pending in self)

    def proposal(self, step: int) -> tuple[Pending, ...]:
        """Give what a step proposes to enter: all for the next step, and at step 1 the first for the next turn."""
        return self.next_step + self.next_turn[:1] if step == 1 else self.next_step

    def __iter__(self) -> Iterator[Pending]:
        yield from self.next_step
        yield from self.next_turn

    def __len__(self) -> int:
        return len(self.next_step) + len(self.next_turn)

    def __contains__(self, id: object) -> bool:
        return any(pending.id == id for pending in self)

    def __repr__(self) -> str:
        return f"<Inbox: {len(self.next_step)} for the next step, {len(self.next_turn)} for the next turn>"


class InboxProjection:
    """Pending input. The state holds, by target, a row `[seq, index, id, wakes]` for each; and, for each id of a
    user/message, the seq of the first that has it."""

    name = "inbox"
    version = 2

    def init(self) -> InboxState:
        """Give the empty inbox."""
        return {"next-step": [], "next-turn": [], "entered": {}, "next": 0}

    def apply(self, state: InboxState, event: Event) -> None:
        """Take a splice in, or let an input leave that has become history."""
        state["next"] = event.seq + 1
        if event.type == "inbox/spliced":
            data = event.data
            if isinstance(data, InboxSpliced) and data.target in TARGETS:
                _splice(state[data.target], data, event.seq)
        elif event.type == "user/message":
            message = event.data
            if isinstance(message, Message):
                _enter(state, message.id)
                state["entered"].setdefault(message.id, event.seq)

    def view(self, state: InboxState, log: Log) -> Inbox:
        """Give what is pending."""
        step, turn = (
            tuple(Pending(log, target, at, row) for at, row in enumerate(state[target])) for target in TARGETS
        )
        return Inbox(step, turn, state["entered"], state["next"])


def _splice(queue: list[list[Any]], data: InboxSpliced, seq: int) -> None:
    start = max(data.start, 0)
    rows = [[seq, at, item.message.id, item.wakes] for at, item in enumerate(data.inserted)]
    queue[start : start + max(data.removed_count, 0)] = rows


def _enter(state: InboxState, id: str) -> None:
    for target in TARGETS:
        queue = state[target]
        if any(row[2] == id for row in queue):
            state[target] = [row for row in queue if row[2] != id]


PROJECTION = InboxProjection()
