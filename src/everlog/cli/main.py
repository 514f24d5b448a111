"""The `everlog` command."""

import click

from everlog import __version__


@click.group()
@click.version_option(__version__, prog_name="everlog")
def main() -> None:
    """An agent harness on a durable, append-only event log."""
