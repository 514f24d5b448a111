"""The events that the model sees, in their order on the surface."""

from __future__ import annotations

import click

from everlog.cli.eventline import event_line
from everlog.session import Log


def value(log: Log, at: int | None) -> dict[str, object]:
    """Give the nodes in order, the generation, and the node of the system prompt."""
    surface = log.project("surface", at)
    return {"nodes": surface.nodes, "generation": surface.generation, "system": surface.system}


def tell(log: Log, at: int | None) -> None:
    """Write each node on a line."""
    surface = log.project("surface", at)
    click.echo(f"generation {surface.generation}")
    for event in log.events.pick(surface.nodes):
        click.echo(event_line(event))
