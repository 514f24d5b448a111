"""`everlog run`: begin a session and have an agent work on one prompt."""

from __future__ import annotations

import asyncio

import click

from everlog.cli.conversation import converse
from everlog.cli.faces import face_for
from everlog.cli.faults import UsageFault
from everlog.cli.harnessed import Choices, agent_options, harness_for, notices, prepare
from everlog.cli.options import declare, store_option
from everlog.cli.prompting import piped_prompt, prompt_from, working_folder


@declare("run")
@click.argument("prompt", nargs=-1)
@click.option("--cwd", metavar="FOLDER", help="The folder that tools work in.  [default: the current one]")
@agent_options
@store_option
def command(prompt: tuple[str, ...], cwd: str | None, output: str, choices: Choices, store: str | None) -> int:
    """Have an agent work on a prompt, in a new session.

    PROMPT is the task; `-`, or a pipe instead of words, reads it from stdin. The answer and the tool calls
    are written as they happen. Ctrl-C cancels the turn and keeps what was done; a second one quits.
    """
    text = prompt_from(prompt) if prompt else piped_prompt()
    if text is None:
        raise UsageFault('say what is to be done: everlog run "fix the failing test"')
    folder = working_folder(cwd)

    async def work() -> int:
        face = face_for(output)
        async with harness_for(store, folder) as harness:
            model = choices.model_in(harness.kernel.config)
            async with await harness.agents.create(model, cwd=folder, set_up=prepare(choices, harness, face)) as agent:
                outcome = await converse(agent, face, notices(harness, agent), lambda agent: agent.followup(text))
        return outcome.exit_code

    return asyncio.run(work())
