"""`everlog resume`: go on with a session, in a new process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from everlog.agent.seam import Agent
from everlog.cli.conversation import converse
from everlog.cli.faces import face_for
from everlog.cli.faults import UsageFault
from everlog.cli.harnessed import Choices, agent_options, harness_for, notices, prepare
from everlog.cli.opened import look
from everlog.cli.options import declare, session_argument, store_option
from everlog.cli.outcome import last_turn
from everlog.cli.output import counted
from everlog.cli.prompting import prompt_from
from everlog.session.projections.steps import Step


@declare("resume")
@session_argument
@click.argument("prompt", nargs=-1)
@click.option("--follow-up", metavar="TEXT", help="What the agent is to do next; the same as PROMPT.")
@agent_options
@store_option
def command(
    session: str | None,
    last: bool,
    prompt: tuple[str, ...],
    follow_up: str | None,
    output: str,
    choices: Choices,
    store: str | None,
) -> int:
    """Go on with a session.

    SESSION is an id or a unique beginning of one; with --last there is none, and all words are PROMPT. What a
    killed process left open is closed first: calls whose result was lost are answered as unknown. Without a
    prompt, input that was not yet taken up is worked on. The model is the one that was asked last, unless
    --model names another.
    """
    words = (session, *prompt) if last and session is not None else prompt
    text = _prompt(words, follow_up)

    async def work() -> int:
        face = face_for(output)
        found = await look(store, None if last else session, last)
        if text is None and not found.waits:
            line = f'everlog resume {found.id[:8]} "…"'
            raise UsageFault(f"nothing waits in session {found.id}; say what is to be done: `{line}`")
        async with harness_for(store, found.cwd) as harness:
            model = choices.model if found.asked else choices.model_in(harness.kernel.config)
            agent = await harness.agents.resume(found.id, model=model, set_up=prepare(choices, harness, face))
            async with agent:
                told = [*notices(harness, agent), *_folder_notices(found.cwd), *_repair_notices(agent)]
                outcome = await converse(
                    agent, face, told, lambda agent: agent.followup(text) if text else agent.wake()
                )
        return outcome.exit_code

    return asyncio.run(work())


def _prompt(words: tuple[str, ...], follow_up: str | None) -> str | None:
    if words and follow_up is not None:
        raise UsageFault("give the prompt as words or with --follow-up, not both")
    return prompt_from(words if follow_up is None else (follow_up,))


def _folder_notices(cwd: Path | None) -> list[str]:
    """Say that the session's folder is gone; it is a part of the session, so another cannot be given."""
    if cwd is None or cwd.is_dir():
        return []
    return [f"the folder {cwd} is not there, so what works on its files will fail"]


def _repair_notices(agent: Agent) -> list[str]:
    """Say that the turn before was cut off, and how many of its calls have no known outcome."""
    before = last_turn(agent.session)
    if before.reason is None or before.reason.kind != "interrupted":
        return []
    steps: list[Step] = agent.session.project("steps")
    unknown = sum(call.outcome == "unknown" for step in steps if step.turn == before.turn for call in step.calls)
    calls = f"; what became of {counted(unknown, 'call')} is not known" if unknown else ""
    return [f"turn {before.turn} was cut off by the end of its process, and is closed now{calls}"]
