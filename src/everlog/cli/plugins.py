"""`everlog plugins`: each plugin's state, and what a pending one waits for."""

from __future__ import annotations

import asyncio

import click

from everlog.cli.logs import set_up_logs
from everlog.cli.options import declare, json_option
from everlog.cli.output import write_json
from everlog.cli.plain import one_line
from everlog.cli.settings import load_config
from everlog.harness import Harness
from everlog.kernel import Config, PluginState, Status

_COLOURS = {Status.ACTIVE: "green", Status.PENDING: "yellow", Status.FAILED: "red"}


@declare("plugins")
@json_option
def command(as_json: bool) -> None:
    """List the plugins and what state each is in.

    Starts everything that is installed and configured as a run does, but with an empty store in memory, looks, and
    stops it again. A pending plugin says what it waits for, a failed one why.
    """
    config = load_config()
    set_up_logs()
    states = asyncio.run(_states(config))
    if as_json:
        write_json(states)
        return
    width = max((len(state.name) for state in states), default=0)
    for state in states:
        _tell(state, width)


async def _states(config: Config) -> list[PluginState]:
    async with Harness(config, store="memory:").composed() as kernel:
        return kernel.states()


def _tell(state: PluginState, width: int) -> None:
    status = click.style(f"{state.status!s:<8}", fg=_COLOURS.get(state.status))
    click.echo(f"{one_line(state.name):<{width}}  {status}  {one_line(state.reason or state.summary)}")
