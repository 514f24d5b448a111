"""Where the session came from, and where it was taken up again."""

from __future__ import annotations

import click

from everlog.cli.output import counted
from everlog.cli.plain import one_line
from everlog.session import Log
from everlog.session.projections.lineage import Lineage


def value(log: Log, at: int | None) -> Lineage:
    """Give parent, origin, and the seqs of its end-seeds."""
    found: Lineage = log.project("lineage", at)
    return found


def tell(log: Log, at: int | None) -> None:
    """Write it in words."""
    found = value(log, at)
    if found.parent is None:
        click.echo(f"origin: {one_line(found.origin or 'begun here')}")
    else:
        inherited = counted(found.inherited, "event")
        click.echo(
            f"origin: {one_line(found.origin or 'fork')} of {one_line(found.parent)}, with its first {inherited}"
        )
    click.echo(f"taken up again at: {', '.join(map(str, found.resumes)) or 'never'}")
