"""Where a session came from, and where it was taken up again."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.payloads import EndSeed

LineageState: TypeAlias = "dict[str, Any]"


class Lineage(msgspec.Struct, frozen=True):
    """The descent of a session.

    Attributes:
        parent: the id of the session that it was forked from or delegated by, or None.
        inherited: how many leading events came from the parent; they have the seqs below that.
        origin: how it came to be, as its header says, or None.
        end_seeds: the seq of each session/end-seed, those of its ancestors too.
        resumes: the seq of each of its own that marks a reload rather than the end of what a fork inherited.
    """

    parent: str | None
    inherited: int
    origin: str | None
    end_seeds: tuple[int, ...]
    resumes: tuple[int, ...]


class LineageProjection:
    """The end-seeds. A row is `[seq, whether it ends what was inherited]`."""

    name = "lineage"
    version = 1

    def init(self) -> LineageState:
        """Give the state without end-seeds."""
        return {"seeds": []}

    def apply(self, state: LineageState, event: Event) -> None:
        """Remember an end-seed."""
        if event.type == "session/end-seed":
            data = event.data
            state["seeds"].append([event.seq, isinstance(data, EndSeed) and data.inherited is True])

    def view(self, state: LineageState, log: Log) -> Lineage:
        """Give the descent, from the header and the end-seeds."""
        header = log.header
        inherited = header.inherited_events or 0
        seeds = state["seeds"]
        resumes = tuple(seq for seq, ends_inherited in seeds if seq >= inherited and not ends_inherited)
        return Lineage(header.parent_session, inherited, header.origin, tuple(row[0] for row in seeds), resumes)


PROJECTION = LineageProjection()
