"""The surface as a fold: the nodes that the model sees, and how often they were rewritten."""

from __future__ import annotations

from typing import Any, TypeAlias

from everlog.session.event import Event
from everlog.session.log import Log
from everlog.session.surface import Surface

SurfaceState: TypeAlias = "dict[str, Any]"


class SurfaceProjection:
    """The surface itself, folded anew from surface operations."""

    name = "surface"
    version = 1

    def init(self) -> SurfaceState:
        """Give the empty surface."""
        return {"nodes": [], "generation": 0, "system": None}

    def apply(self, state: SurfaceState, event: Event) -> None:
        """Put the event in its place."""
        advance(state, event)

    def view(self, state: SurfaceState, log: Log) -> Any:
        """Give the surface."""
        return surface_of(state)


def advance(state: SurfaceState, event: Event) -> tuple[int, ...]:
    """Put an event in its place on the surface of a state, and give the nodes that it shadows."""
    if event.surface_op is None:
        return ()
    if event.surface_op == "append" and event.type != "system/message":
        state["nodes"].append(event.seq)
        return ()
    surface = surface_of(state)
    surface.apply(event)
    rewritten = surface.generation > state["generation"]
    state.update(nodes=list(surface.nodes), generation=surface.generation, system=surface.system)
    return surface.rewrites[-1].shadowed if rewritten else ()


def surface_of(state: SurfaceState) -> Surface:
    """Give the surface that a state describes."""
    return Surface(state["nodes"], state["generation"], state["system"])


PROJECTION = SurfaceProjection()
