"""`everlog compact`: shorten what the model sees of a session, when a person asks for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import click

from everlog.agent.seam import Agent
from everlog.cli.conversation import interruptible, telling_trouble
from everlog.cli.exits import INTERRUPTED, OK
from everlog.cli.faces import to_stderr
from everlog.cli.harnessed import Choices, harness_for
from everlog.cli.hints import hint
from everlog.cli.opened import look
from everlog.cli.options import declare, json_option, session_argument, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.cli.telling import told_usage
from everlog.compaction.seam import CompactionFailed, Relief
from everlog.harness import Harness
from everlog.llm.seam import Models
from everlog.session import Log
from everlog.session.payloads import CompactionSummary, Usage


@declare("compact")
@session_argument
@click.option("--focus", metavar="TEXT", help="What is to be kept above all.")
@click.option("--model", metavar="PROVIDER/MODEL", help="The model to ask, instead of the one that was asked last.")
@json_option
@store_option
def command(
    session: str | None, last: bool, focus: str | None, model: str | None, as_json: bool, store: str | None
) -> int:
    """Shorten what the model sees of a session now.

    What is old is replaced by a summary in the model's view; the log keeps all of it, and so does the transcript.
    Who writes the summary is for `summarise_with` under [plugin.compaction] to say: the session's own model, unless
    it names another, or a template that asks none. Input that waits goes on waiting.
    """
    choices = Choices(model, max_steps=None, permissions=None, sandbox=False)

    async def work() -> int:
        found = await look(store, session, last)
        async with harness_for(store, found.cwd) as harness:
            name = choices.model if found.asked else choices.model_in(harness.kernel.config)
            async with await harness.agents.resume(found.id, model=name) as agent:
                relief = await _shorten(harness, agent, focus)
            # The session is durable now, so what is told is true.
            if relief is None:
                to_stderr("cancelled; what the model sees is as it was")
                return INTERRUPTED
            outcome = _outcome(agent.session, relief)
        if as_json:
            write_json(outcome)
        else:
            _tell(outcome)
        return OK

    return asyncio.run(work())


async def _shorten(harness: Harness, agent: Agent, focus: str | None) -> Relief | None:
    """Have it shortened; None when it was cancelled with Ctrl-C. Raises CompactionFailed."""
    notice = harness.kernel[Models].resolve(agent.model).notice
    if notice:
        to_stderr(notice)
    with telling_trouble(agent, to_stderr), interruptible(agent, to_stderr, "cancelling") as interrupted:
        try:
            return await agent.compact(focus)
        except CompactionFailed:
            if interrupted():
                return None
            raise


@dataclass(frozen=True)
class Outcome:
    """What was shortened, and by whom.

    Attributes:
        session: the session's id.
        before: the tokens that the model saw.
        after: the tokens that it sees now.
        summarised: how many messages a summary stands for.
        pruned: how many results lost their middle.
        seq: the event that stands for them in the model's view; None when there is no summary.
        written_by: who wrote the summary, as `provider/model`, or `template`.
        usage: the tokens that it cost, when a model was asked and its provider told.
    """

    session: str
    before: int
    after: int
    summarised: int
    pruned: int
    seq: int | None = None
    written_by: str | None = None
    usage: Usage | None = None


def _outcome(log: Log, relief: Relief) -> Outcome:
    counts = (log.id, relief.before, relief.after, relief.summarised, relief.pruned)
    for event in reversed(log.events) if relief.summarised else ():
        if isinstance(event.data, CompactionSummary):
            summary = event.data
            names = [name for name in dict.fromkeys((summary.provider, summary.model)) if name]
            stands = next(seq for seq in log.surface.nodes if event.seq in (log.events[seq].source_event_seqs or ()))
            return Outcome(*counts, stands, "/".join(names), summary.usage)
    return Outcome(*counts)


def _tell(outcome: Outcome) -> None:
    less = 1 - outcome.after / max(outcome.before, 1)
    before_and_after = f"{outcome.before:,} tokens before, {outcome.after:,} now, {less:.0%} less"
    click.echo(f"session {one_line(outcome.session)}: {before_and_after}")
    if outcome.seq is not None:
        cost = f": {told_usage(outcome.usage)}" if outcome.usage is not None else ""
        what = f"a summary by {one_line(outcome.written_by or 'nobody known')}"
        click.echo(f"{what} stands for {counted(outcome.summarised, 'message')}{cost}")
        line = hint(f"everlog context {one_line(outcome.session[:8])} --open {outcome.seq}")
        click.echo(f"they can be read: {line}")
