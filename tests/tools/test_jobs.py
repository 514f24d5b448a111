"""Commands in the background: nothing of what they write is lost or told twice."""

from dataclasses import replace
from pathlib import Path

from tests.tools.workshop import Workshop

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
