"""The rule that a plugin brings: what an event of certain types must satisfy, told from the events before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from everlog.session.event import Event

State = TypeVar("State")


@runtime_checkable
class Rule(Protocol[State]):
    """One rule, held by a vocabulary and asked on every append of the types that it sees.

    It is asked after the core's rules, and only about what they accept. Its state is plain JSON: seqs, ids, names
    and counters, never content; logs keep it in their checkpoints. `apply` is total: it meets every event of the
    types that are seen, also in a damaged log, with data that may not have the shape of its type. The same events
    give the same state.

    A rule that raises harms no log. When `check` does, the append is refused with an error that names the rule.
    When `apply` does, the event stands and the failure is logged; what the rule sees from then on is refused the
    same way, because nobody knows any more whether it may stand.

    Attributes:
        name: `vendor/rule`.
        version: rises when the state of the same events would differ.
        sees: the types of events that it is asked about and takes in; those of the core are allowed.
    """

    name: str
    version: int
    sees: tuple[str, ...]

    def init(self) -> State:
        """Give the state of the empty log."""
        ...

    def check(self, state: State, event: Event) -> str | None:
        """Say what was expected, in words, when the event may not stand next; else None. Changes nothing."""
        ...

    def apply(self, state: State, event: Event) -> None:
        """Take one event into the state, in place."""
        ...
