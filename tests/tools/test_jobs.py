"""Commands in the background: nothing of what they write is lost or told twice."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.agent.stage import until
from tests.tools.workshop import Workshop, text

from everlog.tools import jobs
from everlog.tools.jobs import Job, spool
from everlog.tools.processes import Command
from everlog.tools.seam import ToolOutput


def told(output: ToolOutput) -> str:
    return "".join(getattr(block, "text", "") for block in output.content)


async def test_what_a_job_writes_while_it_is_asked_is_told_the_next_time(workspace: Path) -> None:
    with spool() as out:
        out.write(b"x" * 40_000)
        out.flush()

        def writing(text: str) -> str:
            out.write(b"late")
            out.flush()
            return text

        context = Workshop(workspace).context
        running = await Command.start(["sleep", "60"], workspace, {"PATH": "/usr/bin:/bin"}, out, "mark")
        try:
            job = Job("job-1", "make", running, out)
            assert "late" not in told(await job.news(replace(context, redact=writing)))
            assert told(await job.news(context)).startswith("late")
        finally:
            await running.end()


async def begun(shop: Workshop, command: str) -> Job:
    """Give a job of this command once it has ended."""
    result = await shop.one("bash", command=command, background=True)
    name = next(word for word in text(result).replace(";", " ").split() if word.startswith("job-"))
    job = shop.scope[jobs.Jobs].get(shop.context, name)
    await until(lambda: job.ended)
    return job


async def test_a_job_that_ended_holds_no_file_once_it_told_everything(workspace: Path) -> None:
    shop = Workshop(workspace)
    job = await begun(shop, "echo one")
    assert not job.out.closed
    assert text(await shop.one("bash_output", job=job.id)) == "one\n[job-1: exit status 0]"
    assert job.out.closed
    assert text(await shop.one("bash_output", job=job.id)) == "[job-1: exit status 0]"
    assert text(await shop.one("bash_stop", job=job.id)) == "[job-1: exit status 0]"


async def test_of_jobs_that_ended_unasked_only_the_last_keep_their_output(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_KEPT", 2)
    shop = Workshop(workspace)
    ended = [await begun(shop, f"echo {number}") for number in range(4)]
    await until(lambda: ended[1].out.closed)
    assert [job.out.closed for job in ended] == [True, True, False, False]
    told = text(await shop.one("bash_output", job="job-1"))
    assert told == "[2 bytes of output are gone: too many jobs ended after it]\n[job-1: exit status 0]"
    assert text(await shop.one("bash_output", job="job-3")) == "2\n[job-3: exit status 0]"
