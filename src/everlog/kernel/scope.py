"""Scopes: how long a registration lasts, and from where it is seen.

A `Scope` is a lifetime. Whatever is registered through it is undone when it closes, in reverse order. It also
stands at a place in a tree: what is registered at a place is seen from there and from every place below it,
and from nowhere else. The kernel has the root; each agent has a place of its own below it.

Three kinds of thing are registered, and all three live here: services by type, the items of a `Registry`, and
(in `everlog.kernel.hooks`) listeners.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from everlog.kernel.errors import ScopeClosed, ServiceConflict, ServiceMissing

if TYPE_CHECKING:
    from everlog.kernel.hooks import Hook

T = TypeVar("T")
L = TypeVar("L")

Undo = Callable[[], Awaitable[object] | object]
"""Takes something back. What it returns is awaited if it can be, and otherwise ignored."""

logger = logging.getLogger(__name__)
_serial = count()


@dataclass(frozen=True, order=True)
class _Entry:
    """An item with its position: the wished order, outer before inner, plugin order, time."""

    order: int
    depth: int
    rank: int
    serial: int
    item: object = field(compare=False)


@dataclass(eq=False)
class Place:
    """Where registrations stand. Holds them; knows nothing of how long they last."""

    name: str
    parent: "Place | None" = None
    depth: int = 0
    shelves: dict[object, list[_Entry]] = field(default_factory=dict)

    def seen(self, slot: object) -> list[object]:
        """The items of a slot that are seen from here, in their order."""
        entries: list[_Entry] = []
        place: Place | None = self
        while place is not None:
            entries += place.shelves.get(slot, ())
            place = place.parent
        return [entry.item for entry in sorted(entries)]

    def nearest(self, slot: object) -> list[object]:
        """The items of a slot at the nearest place that has any."""
        place: Place | None = self
        while place is not None:
            if shelf := place.shelves.get(slot):
                return [entry.item for entry in shelf]
            place = place.parent
        return []


class Registration:
    """Something that was registered, and can be taken back before its scope ends.

    Also a context manager: `with scope.on(hook, listener): ...` takes it back at the end of the block.
    """

    def __init__(self, undo: Callable[[], object]) -> None:
        self._undo = undo

    def undo(self) -> None:
        """Take it back. Doing so twice, or after the scope ended, changes nothing."""
        self._undo()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.undo()


class Scope:
    """A lifetime at a place: what is registered through it is undone when it closes, in reverse order.

    Guarantees: every undo runs once, also when another one raises (logged) or when the closing task is
    cancelled (raised again at the end); a scope that was made from this one closes with it, at its turn.
    Not guaranteed: safety from other threads; a scope belongs to the thread of its event loop.
    """

    def __init__(self, name: str, place: Place | None = None, rank: int = 0) -> None:
        self.name = name
        """What error messages and logs call it."""
        self._place = place or Place(name)
        self._rank = rank
        self._undos: dict[int, Undo] = {}
        self._closed = False
        self._closing = asyncio.Lock()
        self._closer: asyncio.Task[object] | None = None

    @property
    def closed(self) -> bool:
        """True from the moment that closing begins."""
        return self._closed

    # Lifetimes

    def at_end(self, undo: Undo) -> Registration:
        """Call (and await) `undo` when this scope closes. Taking the registration back forgets it uncalled.

        Raises ScopeClosed.
        """
        key = self._keep(undo)
        return Registration(partial(self._forget, key))

    def child(self, name: str) -> "Scope":
        """A scope with a place of its own below this one: an agent's. It closes with this one at the latest.

        Raises ScopeClosed.
        """
        place = Place(name, self._place, self._place.depth + 1)
        return self._owned(Scope(name, place, self._rank))

    def within(self, other: "Scope") -> "Scope":
        """A scope that registers at the other's place, and ends with whichever of the two ends first.

        With it a plugin gives something to one agent: `ctx.within(agent.scope)`. Raises ScopeClosed.
        """
        joined = Scope(f"{self.name} within {other.name}", other._place, self._rank)
        return other._owned(self._owned(joined))

    async def close(self) -> None:
        """Undo everything, last first. Returns when all is undone; a second call waits for the first."""
        if self._closer is asyncio.current_task():
            return  # an undo that closes its own scope
        self._closed = True
        async with self._closing:
            self._closer = asyncio.current_task()
            try:
                await self._undo_all()
            finally:
                self._closer = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    # Services

    def provide(self, service: type[T], value: T) -> None:
        """Make `value` what `scope[service]` gives, here and below, until this scope ends.

        It hides a service of that type further out. Raises ServiceConflict when this very place has one, and
        ScopeClosed.
        """
        if self._place.shelves.get(service):
            raise ServiceConflict(service, self._place.name)
        self._register(service, value)

    def __getitem__(self, service: type[T]) -> T:
        """The service of a type that is nearest, from here outwards. Raises ServiceMissing."""
        for value in self._place.nearest(service):
            return cast(T, value)
        raise ServiceMissing(service, f"nobody provides it in {self.name}")

    def __contains__(self, service: type[object]) -> bool:
        return bool(self._place.nearest(service))

    # Listeners

    def on(self, hook: "Hook[L]", listener: L, *, order: int = 0) -> Registration:
        """Let a listener take part in a hook until this scope ends; it hears what happens here and below.

        Listeners run by `order`, then outer places first, then in plugin order. Raises ScopeClosed.
        """
        return self._register(hook, listener, order)

    # The parts that Registry and hooks build on

    def _register(self, slot: object, item: object, order: int = 0) -> Registration:
        entry = _Entry(order, self._place.depth, self._rank, next(_serial), item)
        shelves = self._place.shelves

        def take_back() -> None:
            shelves[slot].remove(entry)
            if not shelves[slot]:
                del shelves[slot]

        key = self._keep(take_back)
        shelves.setdefault(slot, []).append(entry)

        def undo() -> None:
            if self._forget(key):
                take_back()

        return Registration(undo)

    def _seen(self, slot: object) -> list[object]:
        return self._place.seen(slot)

    def _keep(self, undo: Undo) -> int:
        if self._closed:
            raise ScopeClosed(self.name)
        key = next(_serial)
        self._undos[key] = undo
        return key

    def _forget(self, key: int) -> bool:
        return self._undos.pop(key, None) is not None

    def _owned(self, scope: "Scope") -> "Scope":
        key = self._keep(scope.close)
        scope._keep(lambda: self._forget(key))
        return scope

    async def _undo_all(self) -> None:
        cancelled: asyncio.CancelledError | None = None
        while self._undos:
            _, undo = self._undos.popitem()
            try:
                outcome = undo()
                if isawaitable(outcome):
                    await outcome
            except asyncio.CancelledError as error:
                cancelled = error
            except Exception:
                logger.exception("%s: taking back a registration failed", self.name)
        if cancelled is not None:
            raise cancelled


class Registry(Generic[T]):
    """Things that plugins add and a service lists, each seen only where its scope stands.

    The registries of tools, prompt sections and the like are made of this: the service owns the Registry, and
    hands on the caller's scope, so that an addition ends with the plugin or the agent that made it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        """What it holds, in a word."""

    def add(self, scope: Scope, item: T, *, order: int = 0) -> Registration:
        """Add an item until the scope ends. Raises ScopeClosed."""
        return scope._register(self, item, order)

    def seen_from(self, scope: Scope) -> list[T]:
        """The items that are seen from a scope: by `order`, then outer places first, then in plugin order.

        A plugin that ended and started again gets its old position back.
        """
        return cast(list[T], scope._seen(self))
