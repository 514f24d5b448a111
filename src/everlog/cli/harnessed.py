"""The harness that `run` and `resume` work with, and the options that shape it."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from everlog.agent.limits import Limits
from everlog.agent.seam import BUDGET, Agent
from everlog.cli.asking import TerminalApprover, TerminalRespondent, is_interactive
from everlog.cli.faces import FORMATS, Face
from everlog.cli.faults import UsageFault
from everlog.cli.logs import set_up_logs
from everlog.cli.settings import default_model, load_config, store_url
from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.seam import Models
from everlog.tools.permissions import MODES, Mode, Permissions
from everlog.tools.sandbox import Sandbox
from everlog.tools.seam import Approver, Respondent


@dataclass(frozen=True)
class Choices:
    """What the command line says of an agent.

    Attributes:
        model: `provider/model`, or None.
        max_steps: how many steps a turn may have, or None.
        permissions: the permission mode, or None for the configured one.
        sandbox: whether commands are confined, besides what the configuration says.
    """

    model: str | None
    max_steps: int | None
    permissions: Mode | None
    sandbox: bool

    def model_in(self, config: Config) -> str:
        """Give the model that is asked: this one, else the environment's, else the configuration's."""
        name = self.model or default_model(config)
        if name is None:
            raise UsageFault(
                'no model is named: use --model PROVIDER/MODEL, EVERLOG_MODEL, or model = "PROVIDER/MODEL" under'
                " [defaults] in everlog.toml; `everlog doctor` says what is ready"
            )
        return name


def agent_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that run an agent; the function gets `choices` and `output`."""

    @functools.wraps(function)
    def gathered(
        *args: Any, model: str | None, max_steps: int | None, permissions: Mode | None, sandbox: bool, **kwargs: Any
    ) -> Any:
        return function(*args, choices=Choices(model, max_steps, permissions, sandbox), **kwargs)

    for option in reversed(_OPTIONS):
        option(gathered)
    return gathered


_OPTIONS = (
    click.option("--model", metavar="PROVIDER/MODEL", help="The model to ask, like openai/NAME or script/FILE.yaml."),
    click.option(
        "--output",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="How it is told: for people, as one JSON object at the end, or as a JSON object per line.",
    ),
    click.option(
        "--permissions",
        type=click.Choice(MODES),
        help="What runs unasked: only reading; nothing that changes things; edits of files in the folder; everything"
        " in it.  [default: the configuration's, else ask]",
    ),
    click.option(
        "--sandbox",
        is_flag=True,
        help="Confine commands with bubblewrap: they write only in the folder, and have no network unless"
        " the configuration allows it.",
    ),
    click.option("--max-steps", type=click.IntRange(1), help="End a turn after this many steps."),
)


@asynccontextmanager
async def harness_for(store: str | None, cwd: Path | None = None) -> AsyncIterator[Harness]:
    """Put everything together, with the configuration of the folder that tools work in."""
    set_up_logs()
    config = load_config(cwd)
    async with Harness(config=config, store=store_url(store, config)) as harness:
        yield harness


def prepare(choices: Choices, harness: Harness, face: Face) -> Callable[[Agent], None]:
    """Give the set-up of an agent: its step limit, its permissions, its sandbox, and a person at the terminal."""

    def set_up(agent: Agent) -> None:
        if choices.max_steps is not None:
            agent.scope.on(BUDGET, Limits(steps=choices.max_steps, repeated_call=None).met, order=-1)
        if choices.permissions is not None:
            harness.kernel[Permissions].use_mode(choices.permissions, agent.scope)
        if choices.sandbox:
            agent.scope.provide(Sandbox, harness.kernel[Sandbox].switched_on())
        if is_interactive():
            agent.scope.provide(Approver, TerminalApprover(face))
            agent.scope.provide(Respondent, TerminalRespondent(face))

    return set_up


def notices(harness: Harness, agent: Agent) -> list[str]:
    """Give what a person should know first: that a script answers, that nobody is there to be asked."""
    notice = harness.kernel[Models].resolve(agent.model).notice
    found = [notice] if notice else []
    mode = harness.kernel[Permissions].mode(agent.scope)
    if mode == "ask" and Approver not in agent.scope:
        found.append("nobody is here to be asked, so calls that change things are refused; see --permissions")
    return found
