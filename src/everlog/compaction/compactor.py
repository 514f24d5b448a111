"""The policy of compaction: when something is shortened, what, by whom, and what is done when that fails.

The steps, each taken only while there is too much:

1. Long old results lose their middle, if that alone brings the view under the aim. If not, they stay: the
   summary request then finds the whole conversation in the provider's cache.
2. What is old is summarised; the recent past stays.
3. Long recent results lose their middle.
4. All that was answered is summarised.

A summary that fails leaves everything as it was, and is not tried again before the view has grown. When the next
request would not fit any more, the template, which needs no model, takes the model's place.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from everlog.compaction.budget import SAME, TEMPLATE, Budget, CompactionSettings
from everlog.compaction.meter import PROJECTION, Meter
from everlog.compaction.plan import Cut, Prune, cut, prunes
from everlog.compaction.seam import (
    Assignment,
    CompactionFailed,
    Compactor,
    NothingToCompact,
    Occasion,
    Relief,
    Summariser,
    Summary,
)
from everlog.compaction.template import Template
from everlog.compaction.transaction import Landing, compact, prune
from everlog.errors import EverlogError
from everlog.llm.seam import CONTEXT_OVERFLOW, ModelFailure
from everlog.session.live import Session
from everlog.store.seam import LeaseLost

_log = logging.getLogger("everlog.compaction")

_INSTRUCTION = 400
"""Tokens of the message that asks for a summary, at most."""

_UNKNOWN = 32_000
"""Tokens that a window of unknown size is taken to have room for when a person asks for a summary."""

_WORTH = 300
"""A run of fewer tokens than this is not worth a summary."""


class View:
    """What one occasion is about: the surface and its budget, and what was done to it so far."""

    def __init__(self, occasion: Occasion, budget: Budget) -> None:
        self.occasion = occasion
        self.budget = budget
        self._session = occasion.session
        self._before = self.meter.total
        self._pruned = 0
        self._summarised = 0

    @property
    def meter(self) -> Meter:
        """Give what the model sees now."""
        found: Meter = self._session.project(PROJECTION)
        return found

    @property
    def is_over(self) -> bool:
        """Tell whether there is too much of it."""
        return self.meter.total > self.budget.limit

    @property
    def is_desperate(self) -> bool:
        """Tell whether a request as things are would not fit."""
        return self.occasion.trigger == "overflow" or self.meter.total > self.budget.hard

    def prune_old(self) -> bool:
        """Shorten old results, if that alone is enough; tell whether it was."""
        meter = self.meter
        found = prunes(self._session, meter, self.budget, self.budget.recent)
        if meter.total - sum(each.tokens - each.left for each in found) > self.budget.aim:
            return False
        for each in found:
            self._prune(each)
        return True

    def prune_all(self, prune_from: int, prune_to: int) -> None:
        """Shorten results, recent ones too, until there is no longer too much."""
        harder = replace(self.budget, prune_from=prune_from, prune_to=prune_to)
        for each in prunes(self._session, self.meter, harder, 0):
            self._prune(each)

    def _prune(self, what: Prune) -> None:
        prune(self._session, what)
        self._pruned += 1

    def cut(self, recent: int, worth: int) -> Cut | None:
        """Give what to summarise so that about `recent` tokens stay; None when it is of fewer tokens than `worth`."""
        found = cut(self._session, self.meter, recent)
        return found if found is not None and found.tokens >= max(worth, _WORTH) else None

    async def summarise(self, what: Cut, summariser: Summariser) -> None:
        """Put a summary in the place of what is to be cut. Raises what the summariser raises, NoSmaller."""
        meter = self.meter

        async def summary(id: str) -> Summary:
            keeps = len(meter.nodes) - meter.nodes.index(what.nodes[-1]) - 1
            tokens = min(self.budget.summary_tokens, what.tokens // 3)
            return await summariser.summarise(
                Assignment(
                    occasion=self.occasion, compaction_id=id, nodes=what.nodes, keeps=keeps, tokens=max(tokens, 100)
                )
            )

        await compact(self.occasion, Landing(what, meter.of_text), summary)
        self._summarised += len(what.nodes)

    @property
    def relief(self) -> Relief | None:
        """Give what was gained; None when nothing was done."""
        if not self._pruned and not self._summarised:
            return None
        return Relief(self._before, self.meter.total, self._pruned, self._summarised)


class Policy(Compactor):
    """The steps that the module describes."""

    def __init__(self, settings: CompactionSettings, same: Summariser, reader: Summariser) -> None:
        """`same` is the conversation's own model, `reader` the one that is handed the text of it."""
        self._settings = settings
        self._same = same
        self._reader = reader
        self._template = Template()
        self._wait_until: WeakKeyDictionary[Session, int] = WeakKeyDictionary()

    async def make_room(self, occasion: Occasion) -> Relief | None:
        """Shorten what the model sees; see `Compactor.make_room`."""
        if occasion.session.ledger.compactions.open is not None:
            return None
        match occasion.trigger:
            case "window":
                return await self._before_request(occasion)
            case "overflow":
                return await self._after_overflow(occasion)
            case "command":
                return await self._on_command(occasion)

    async def _before_request(self, occasion: Occasion) -> Relief | None:
        budget = self._settings.budget(occasion.route, occasion.header)
        if budget is None or not self._settings.automatic:
            return None
        view = View(occasion, budget)
        if not view.is_over:
            return None
        await self._shorten(view)
        return view.relief

    async def _after_overflow(self, occasion: Occasion) -> Relief | None:
        """The provider knows better than any estimate how much was too much."""
        total = occasion.session.project(PROJECTION).total
        budget = self._settings.budget(occasion.route, occasion.header, total)
        if budget is None or not self._settings.automatic:
            return None
        view = View(occasion, budget)
        await self._shorten(view)
        return view.relief

    async def _on_command(self, occasion: Occasion) -> Relief | None:
        total = occasion.session.project(PROJECTION).total
        budget = self._settings.budget(occasion.route, occasion.header) or Budget(window=2 * total + _UNKNOWN)
        view = View(occasion, budget)
        what = view.cut(min(budget.recent, total // 8), 0)
        if what is None:
            raise NothingToCompact
        try:
            await self._summarise(view, what)
        except ModelFailure as failure:
            raise CompactionFailed(f"the summary could not be written: {failure}") from failure
        return view.relief

    async def _shorten(self, view: View) -> None:
        budget = view.budget
        if view.prune_old():
            return
        await self._try_to_summarise(view, budget.recent, budget.window // 20)
        if view.is_desperate and view.is_over:
            view.prune_all(max(budget.prune_from, budget.recent // 2), max(budget.prune_to, budget.recent // 4))
        if view.is_desperate and view.is_over:
            await self._try_to_summarise(view, 0, 0)
        if view.is_desperate and view.is_over:
            view.prune_all(budget.prune_from, budget.prune_to)

    async def _try_to_summarise(self, view: View, recent: int, worth: int) -> None:
        """Summarise what is worth it. What goes wrong is logged by the compaction, and waited with the next try for."""
        session, total = view.occasion.session, view.meter.total
        what = view.cut(recent, worth)
        if what is None or (total < self._wait_until.get(session, 0) and not view.is_desperate):
            return
        try:
            await self._summarise(view, what)
        except LeaseLost:
            raise
        except Exception as error:
            self._wait_until[session] = total + view.budget.window // 20
            details = None if isinstance(error, EverlogError) else error
            _log.warning("session %s was not shortened: %s", session.id, error, exc_info=details)

    async def _summarise(self, view: View, what: Cut) -> None:
        """Land a summary; of a second summariser when the request of the first was too long, or when it must be."""
        failed: EverlogError = NothingToCompact()
        for summariser in self._summarisers(view):
            try:
                await view.summarise(what, summariser)
                return
            except LeaseLost:
                raise
            except EverlogError as error:
                failed = error
                if not view.is_desperate and not _was_too_long(error):
                    break
        raise failed

    def _summarisers(self, view: View) -> Iterator[Summariser]:
        """Give who may write the summary, in the order in which they are asked."""
        scope, chosen = view.occasion.scope, self._settings.summarise_with
        if Summariser in scope:
            yield scope[Summariser]
        elif chosen != TEMPLATE:
            if chosen == SAME and _fits(view):
                yield self._same
            yield self._reader
        yield self._template


def _was_too_long(error: EverlogError) -> bool:
    """Tell whether the request for a summary was longer than its model's window."""
    return isinstance(error, ModelFailure) and error.code == CONTEXT_OVERFLOW


def _fits(view: View) -> bool:
    """Tell whether the conversation and a request for its summary go into the window together."""
    budget = view.budget
    answer = max(budget.reserve, budget.summary_tokens)
    return view.occasion.trigger != "overflow" and view.meter.total + _INSTRUCTION + answer <= budget.window
