"""Projections: pure folds over the log.

A projection is one object with `init`, `apply` and `view`, used for live updates, cold reads and "as of
seq N" alike. Its state holds seqs, ids, names and counters, never content, and is plain JSON; `apply` owns
the state and reads nothing but the event; `view` may read the log for content. None of them ever raises,
whatever events a recording holds, and none runs a tool or asks a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from everlog.session.event import Event
    from everlog.session.log import Log

State = TypeVar("State")
ViewT = TypeVar("ViewT", covariant=True)


@runtime_checkable
class Projection(Protocol[State, ViewT]):
    """One fold. `version` rises when the state of the same events would differ."""

    name: str
    version: int

    def init(self) -> State:
        """Give the state of the empty log."""
        ...

    def apply(self, state: State, event: Event) -> None:
        """Take one event into the state, in place."""
        ...

    def view(self, state: State, log: Log) -> ViewT:
        """Give the answer; it does not change the state."""
        ...


_NAMES = (
    "messages",
    "transcript",
    "stream",
    "header",
    "context",
    "request",
    "steps",
    "inbox",
    "usage",
    "todos",
    "title",
    "approvals",
    "timeline",
    "lineage",
    "surface",
)

_NONE: Mapping[str, Any] = MappingProxyType({})


def names() -> tuple[str, ...]:
    """Give the names of the built-in projections."""
    return _NAMES


def named(name: str, plugins: Mapping[str, Projection[Any, Any]] = _NONE) -> Projection[Any, Any]:
    """Give the projection with this name: of a plugin, or built in as `everlog.session.projections.NAME`.

    Raises:
        KeyError: there is none.
    """
    if name in plugins:
        return plugins[name]
    if name not in _NAMES:
        raise KeyError(f"no projection {name!r}; there are {', '.join([*_NAMES, *plugins])}")
    found: Projection[Any, Any] = import_module(f"everlog.session.projections.{name}").PROJECTION
    return found
