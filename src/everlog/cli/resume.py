"""`everlog resume`: go on with a session, in a new process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import click

from everlog.agent.seam import Agent
from everlog.cli.conversation import converse
from everlog.cli.faces import face_for
from everlog.cli.faults import UsageFault
from everlog.cli.harnessed import Choices, agent_options, harness_for, notices, prepare
from everlog.cli.opened import find_id
from everlog.cli.options import declare, session_argument, store_option
from everlog.cli.outcome import last_turn
from everlog.cli.output import counted
from everlog.cli.prompting import prompt_from
from everlog.harness import Harness
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
        async with harness_for(choices, store) as harness:
            id = await find_id(harness.store, None if last else session, last)
            begin = await _beginning(harness, id, text)
            agent = await harness.agents.resume(id, model=choices.model, set_up=prepare(choices, harness, face))
            async with agent:
                told = [*notices(harness, agent), *_repair_notices(agent)]
                outcome = await converse(agent, face, told, begin)
        return outcome.exit_code

    return asyncio.run(work())


def _prompt(words: tuple[str, ...], follow_up: str | None) -> str | None:
    if words and follow_up is not None:
        raise UsageFault("give the prompt as words or with --follow-up, not both")
    return prompt_from(words if follow_up is None else (follow_up,))


def _repair_notices(agent: Agent) -> list[str]:
    """Say that the turn before was cut off, and how many of its calls have no known outcome."""
    before = last_turn(agent.session)
    if before.reason is None or before.reason.kind != "interrupted":
        return []
    steps: list[Step] = agent.session.project("steps")
    unknown = sum(call.outcome == "unknown" for step in steps if step.turn == before.turn for call in step.calls)
    calls = f"; what became of {counted(unknown, 'call')} is not known" if unknown else ""
    return [f"turn {before.turn} was cut off by the end of its process, and is closed now{calls}"]


async def _beginning(harness: Harness, id: str, text: str | None) -> Callable[[Agent], object]:
    """Give what sets the agent going. Raises UsageFault when nothing was said and nothing waits."""
    if text is not None:
        return lambda agent: agent.followup(text)
    async with await harness.store.open(id, "read") as log:
        if not len(log.project("inbox")):
            raise UsageFault(f'nothing waits in session {id}; say what is to be done: everlog resume {id[:8]} "…"')
    return lambda agent: agent.wake()
