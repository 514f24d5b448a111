"""The surface: the ordered list of event seqs that the model sees now, and how it came to be so.

An appended event goes to the tail; a system prompt, of which there is one, goes to position 0. A replace
puts an event in the place of a run of nodes, by position. Each change other than at the tail raises the
generation and is remembered, so that the surface at any earlier seq is had by undoing the later ones.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from everlog.session.event import Event, Replace


class Rewrite(msgspec.Struct, frozen=True, array_like=True):
    """One change of the surface other than at its tail.

    Attributes:
        seq: the event that made it.
        at: the position where the event stands since.
        shadowed: the nodes it took the place of, in order; empty for an inserted system prompt.
        length: how many nodes there were after it.
        ordinal: how many tail appends came before it.
    """

    seq: int
    at: int
    shadowed: tuple[int, ...]
    length: int


class Surface:
    """The surface of one log. Read it through `nodes`, `generation` and `at`; only the log changes it."""

    def __init__(
        self, nodes: Sequence[int] = (), generation: int = 0, system: int | None = None, since: int = 0
    ) -> None:
        """Begin with these nodes; `since` is the seq before which earlier surfaces are not known."""
        self._nodes = list(nodes)
        self._generation = generation
        self._system = system
        self._since = since
        self._rewrites: list[Rewrite] = []
        self._length_at_start = len(self._nodes)
        self._frozen: tuple[int, ...] | None = None

    @property
    def nodes(self) -> tuple[int, ...]:
        """Give the seqs in order."""
        if self._frozen is None:
            self._frozen = tuple(self._nodes)
        return self._frozen

    @property
    def generation(self) -> int:
        """Give how many times the surface was rewritten other than at its tail."""
        return self._generation

    @property
    def system(self) -> int | None:
        """Give the node of the system prompt, which stands at position 0, or None."""
        return self._system

    @property
    def since(self) -> int:
        """Give the seq from which on `at` can answer."""
        return self._since

    @property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """Give the changes other than at the tail, in order."""
        return tuple(self._rewrites)

    def __len__(self) -> int:
        return len(self._nodes)

    def span(self, op: Replace) -> tuple[int, int] | None:
        """Give the positions of the two ends of a replace, inclusive; None when one is not a node."""
        try:
            start = self._find(op.start_seq)
            end = start if op.end_seq == op.start_seq else self._find(op.end_seq)
        except ValueError:
            return None
        return start, end

    def _find(self, seq: int) -> int:
        """Give the position of a node: near the tail at once, elsewhere by a scan."""
        nodes = self._nodes
        tail = self._rewrites[-1].length if self._rewrites else self._length_at_start
        if len(nodes) > tail and seq >= nodes[tail]:
            at = bisect_right(nodes, seq, lo=tail) - 1
            if nodes[at] == seq:
                return at
            raise ValueError(seq)
        return nodes.index(seq)

    def stood_at(self, seq: int) -> bool:
        """Tell whether the surface after the event `seq` was already the one that it is now."""
        rewritten = self._rewrites[-1].seq if self._rewrites else -1
        return rewritten <= seq and (not self._nodes or self._nodes[-1] <= seq) and seq >= self._since - 1

    def slice(self, start: int, stop: int) -> tuple[int, ...]:
        """Give the nodes at positions from start up to stop."""
        return tuple(self._nodes[start:stop])

    def apply(self, event: Event) -> bool:
        """Take a surface event in, and tell whether the surface was rewritten other than at its tail.

        An event whose place cannot be found, as a foreign log may hold, goes to the tail.
        """
        op = event.surface_op
        if op is None:
            return False
        self._frozen = None
        if type(op) is Replace:
            return self._replace(event, op)
        if event.type == "system/message" and self._system is None:
            self._rewrite(event.seq, 0, 0)
            self._system = event.seq
            return True
        self._nodes.append(event.seq)
        return False

    def _replace(self, event: Event, op: Replace) -> bool:
        span = self.span(op)
        if span is None or span[0] > span[1]:
            self._nodes.append(event.seq)
            return False
        start, end = span
        if self._system is not None and start == 0:
            self._system = event.seq if event.type == "system/message" else None
        self._rewrite(event.seq, start, end + 1)
        return True

    def _rewrite(self, seq: int, start: int, stop: int) -> None:
        shadowed = tuple(self._nodes[start:stop])
        self._nodes[start:stop] = [seq]
        self._generation += 1
        self._rewrites.append(Rewrite(seq, start, shadowed, len(self._nodes)))

    def at(self, seq: int) -> Surface:
        """Give the surface as it was after the event `seq`, by undoing the changes since.

        Raises:
            ValueError: the surface that early is not known; fold the log instead.
        """
        if seq < self._since - 1:
            raise ValueError(seq)
        nodes = list(self._nodes)
        kept = len(self._rewrites)
        while kept and self._rewrites[kept - 1].seq > seq:
            kept -= 1
            change = self._rewrites[kept]
            del nodes[change.length :]
            nodes[change.at : change.at + 1] = change.shadowed
        tail = self._rewrites[kept - 1].length if kept else self._length_at_start
        del nodes[bisect_right(nodes, seq, lo=min(tail, len(nodes))) :]
        return self._earlier(nodes, kept)

    def _earlier(self, nodes: list[int], kept: int) -> Surface:
        undone = self._rewrites[kept:]
        system = self._system
        for change in reversed(undone):
            if change.seq == system:
                system = change.shadowed[0] if change.shadowed else None
        earlier = Surface(generation=self._generation - len(undone), system=system, since=self._since)
        earlier._nodes = nodes
        earlier._rewrites = self._rewrites[:kept]
        earlier._length_at_start = self._length_at_start
        return earlier
