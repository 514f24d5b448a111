"""What `everlog show --view NAME` leads to: a module of `everlog.cli.views`, or a projection that a plugin declares."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

import click
import msgspec

from everlog.cli.faults import UsageFault
from everlog.cli.output import write_block
from everlog.cli.plain import harmless_json
from everlog.cli.views import VIEWS
from everlog.session import Log
from everlog.session.jsonable import jsonable


class Shown(Protocol):
    """A view in its two forms."""

    def value(self, log: Log, at: int | None) -> Any:
        """Give it as something that `write_json` takes."""
        ...

    def tell(self, log: Log, at: int | None) -> None:
        """Write it for people."""
        ...


def view_name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse what cannot be a view; one of a plugin can only be looked up when the log is open."""
    if value not in VIEWS and "/" not in value:
        raise click.BadParameter(f"{value!r} is none of {', '.join(VIEWS)}, nor vendor/name", ctx, param)
    return value


def view_of(name: str, log: Log) -> Shown:
    """Give the view of a log that has this name. Raises UsageFault when no installed plugin declares it."""
    if name in VIEWS:
        return cast("Shown", import_module(f"everlog.cli.views.{name}"))
    if name not in log.vocabulary.projections:
        known = ", ".join(log.vocabulary.projections) or "none"
        raise UsageFault(f"--view {name}: no plugin declares it; declared are {known}; see `everlog plugins`")
    return Projected(name)


@dataclass(frozen=True)
class Projected:
    """The view of a projection of which nothing is known but that it gives something like JSON."""

    projection: str

    def value(self, log: Log, at: int | None) -> Any:
        """Give what the projection gives."""
        return log.project(self.projection, at)

    def tell(self, log: Log, at: int | None) -> None:
        """Write it as indented JSON; a text as it is."""
        found = self.value(log, at)
        if isinstance(found, str):
            write_block(found)
            return
        text = msgspec.json.format(msgspec.json.encode(jsonable(found)), indent=2)
        click.echo(harmless_json(text.decode("utf-8", "surrogatepass")))
