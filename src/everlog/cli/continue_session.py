"""`everlog continue`: a session of our own from what a model saw in a recording."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from everlog.cli.conversation import converse
from everlog.cli.faces import face_for
from everlog.cli.harnessed import Choices, agent_options, harness_for, notices, prepare
from everlog.cli.opened import find_id, look, stored
from everlog.cli.options import declare, session_argument, store_option
from everlog.cli.plain import one_line
from everlog.cli.prompting import prompt_from, working_folder
from everlog.session.header import Header
from everlog.store.seam import Store


@declare("continue")
@session_argument
@click.argument("prompt", nargs=-1)
@click.option(
    "--cwd", metavar="FOLDER", help="The folder that tools work in.  [default: the recording's, else this one]"
)
@agent_options
@store_option
def command(
    session: str | None,
    last: bool,
    prompt: tuple[str, ...],
    cwd: str | None,
    output: str,
    choices: Choices,
    store: str | None,
) -> int:
    """Start a session from what the model saw at the end of a recording.

    SESSION is the id of a recording (or of a session), as `everlog import` tells it; with --last there is none, and all
    words are PROMPT. The recording is not touched. The new session names it as its parent, has its own system prompt,
    and works on PROMPT; without one, `everlog resume` goes on with it. The model is the recording's, unless --model
    names another.
    """
    words = (session, *prompt) if last and session is not None else prompt
    text = prompt_from(words) if words else None
    folder = None if cwd is None else working_folder(cwd)

    async def work() -> int:
        given = None if last else session
        if text is None:
            async with stored(store) as opened:
                header = await _begun(opened, given, last, folder)
            click.echo(f"session {one_line(header.id)}, from {one_line(header.parent_session or '')}")
            return 0
        face = face_for(output)
        found = await look(store, given, last)
        async with harness_for(store, folder or found.cwd) as harness:
            header = await _begun(harness.store, given, last, folder)
            set_up = prepare(choices, harness, face)
            try:
                agent = await harness.agents.resume(header.id, model=choices.model, set_up=set_up)
            except BaseException:
                await harness.store.purge(header.id)
                raise
            async with agent:
                outcome = await converse(agent, face, notices(harness, agent), lambda agent: agent.followup(text))
        return outcome.exit_code

    return asyncio.run(work())


async def _begun(store: Store, session: str | None, last: bool, cwd: Path | None) -> Header:
    from everlog.interop.continuing import continue_in

    async with await store.open(await find_id(store, session, last), "read") as log:
        return await continue_in(store, log, None if cwd is None else str(cwd))
