"""How much the view may hold: the table `[plugin.compaction]`, and what it comes to for one model.

[plugin.compaction]
compact_at = 0.75                          # of the window
summarise_with = "same"                    # or "template", or a model as provider/model

[plugin.compaction.models."anthropic/claude-sonnet-4"]
window = 120_000                           # use less of it than there is
keep_recent = 0.2
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from everlog.llm.seam import Route
from everlog.session.payloads import RequestHeader

SAME, TEMPLATE = "same", "template"


class Shares(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be said for all models and for one. Shares are of the model's window.

    Attributes:
        window: how many tokens of the window are used; the model's own when nothing is said.
        compact_at: the share at which something is shortened before a request.
        aim_for: the share that shortening tries to come under.
        keep_recent: the share that stays as it is at the tail.
        prune_from: a result of more tokens than this may lose its middle.
        prune_to: the tokens that are left of it, head and tail together.
        summary: the tokens that a summary is asked to keep within.
    """

    window: int | None = None
    compact_at: float | None = None
    aim_for: float | None = None
    keep_recent: float | None = None
    prune_from: int | None = None
    prune_to: int | None = None
    summary: int | None = None


class CompactionSettings(Shares, frozen=True, forbid_unknown_fields=True):
    """The whole table.

    Attributes:
        automatic: whether anything is shortened unasked.
        summarise_with: `same` (the conversation's own model), `template` (none), or another as `provider/model`.
        models: what differs for models, by `provider/model`; a name also holds for names that it begins.
    """

    automatic: bool = True
    summarise_with: str = SAME
    models: dict[str, Shares] = {}

    def budget(self, route: Route, header: RequestHeader, window: int | None = None) -> Budget | None:
        """Give the budget of a route, or None when its window is not known and `window` does not say it."""
        said = [self._own(route.name), self]
        capacity: int | None = _first(said, "window") or route.context_window or window
        if capacity is None:
            return None
        capacity = min(capacity, window or capacity)
        defaults = Budget(window=capacity)
        return Budget(
            window=capacity,
            reserve=_answer_tokens(header),
            **{name: _first(said, name, getattr(defaults, name)) for name in _SHARED},
        )

    def _own(self, name: str) -> Shares:
        known = [entry for entry in self.models if name == entry or re.match(rf"{re.escape(entry)}[-:@]", name)]
        return self.models[max(known, key=len)] if known else Shares()


_SHARED = ("compact_at", "aim_for", "keep_recent", "prune_from", "prune_to", "summary")


def _first(said: list[Shares], name: str, otherwise: Any = None) -> Any:
    return next((value for shares in said if (value := getattr(shares, name)) is not None), otherwise)


def _answer_tokens(header: RequestHeader) -> int:
    """Give the tokens that an answer may take, which providers count against the window too."""
    config = header.config
    found = config.get("maxTokens") if isinstance(config, dict) else None
    return int(found) if isinstance(found, int | float) and found > 0 else 0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What the view of one model may hold.

    Attributes:
        window: the capacity in tokens.
        reserve: tokens of it that the answer needs.
        compact_at, aim_for, keep_recent, prune_from, prune_to, summary: as in `Shares`.
    """

    window: int
    reserve: int = 0
    compact_at: float = 0.8
    aim_for: float = 0.6
    keep_recent: float = 0.25
    prune_from: int = 1_000
    prune_to: int = 400
    summary: int = 2_000

    @property
    def hard(self) -> int:
        """Give the number of tokens that a request must stay under; at most half of the window is kept free."""
        return max(self.window - self.reserve, self.window // 2) * 19 // 20

    @property
    def limit(self) -> int:
        """Give the number of tokens at which something is shortened."""
        return min(int(self.window * self.compact_at), self.hard)

    @property
    def aim(self) -> int:
        """Give the number of tokens that shortening tries to come under."""
        return min(int(self.window * self.aim_for), self.limit * 3 // 4)

    @property
    def recent(self) -> int:
        """Give the number of tokens that stay at the tail."""
        return min(int(self.window * self.keep_recent), self.aim // 2)

    @property
    def summary_tokens(self) -> int:
        """Give the tokens that a summary is asked to keep within."""
        return min(self.summary, self.window // 10)
