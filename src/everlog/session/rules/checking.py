"""Judging a whole log: what `verify`, `repair` and `import` ask, and what a recording lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from everlog.session.errors import RuleViolation
from everlog.session.event import Event
from everlog.session.rules.ledger import Ledger, ReadEvent
from everlog.session.rules.ruled import new_ledger
from everlog.session.surface import Surface
from everlog.session.views import View
from everlog.session.vocabulary import CORE

if TYPE_CHECKING:
    from everlog.session.log import Log


def check(log: Log) -> list[RuleViolation]:
    """Give everything that the events of a log break, in order; an empty list for a sound one."""
    surface, ledger = Surface(), new_ledger(log.vocabulary)
    found: list[RuleViolation] = []
    for event in log.events:
        data, broken = judge(event, ledger, surface, log.events.__getitem__)
        found += broken
        surface.apply(event)
        ledger.apply(event, data, surface.generation)
    return found


def judge(event: Event, ledger: Ledger, surface: Surface, read: ReadEvent) -> tuple[Any, list[RuleViolation]]:
    """Give the view of an event's data and what the event breaks, standing where ledger and surface are."""
    kind = event.kind
    if kind is None:
        broken = [] if event.ignorable else [_violation(event, "vocabulary", "a known type, or ignorable")]
        return None, broken + _marks(event, False)
    broken = _marks(event, kind.surface)
    try:
        data = kind.check(event.data_json)
    except ValueError as error:
        data = _view(event)
        broken.append(_violation(event, "shape", str(error)))
    return data, broken + ledger.violations(event, data, surface, read)


def binding(violations: Iterable[RuleViolation]) -> list[RuleViolation]:
    """Give those for which a log cannot be gone on with: what a plugin demands is not among them.

    A plugin may be newer than the log, and its rules see the core's types too; installing one shall close no session.
    """
    return [one for one in violations if "/" not in one.rule and (one.rule != "shape" or one.type in CORE)]


def _view(event: Event) -> View | None:
    """Give the view of data that does not meet a demand of its type; None when it has none at all."""
    data = event.data
    return data if isinstance(data, View) else None


def _marks(event: Event, on_surface: bool) -> list[RuleViolation]:
    """Judge whether the event carries what events of its kind carry."""
    if on_surface:
        missing = event.surface_op is None
        return [_violation(event, "surface.marks", "a surface operation")] if missing else []
    carries = event.surface_op is not None or event.source_event_seqs is not None
    return [_violation(event, "surface.marks", "neither surfaceOp nor sourceEventSeqs")] if carries else []


def _violation(event: Event, rule: str, expected: str) -> RuleViolation:
    return RuleViolation(event.seq, event.type, rule, expected)
