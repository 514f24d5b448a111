"""bash: output, status, time, and that nothing is left running."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.tools.workshop import Workshop, call, code, text

from everlog.tools.builtin import bash as module


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"


def ended(path: Path) -> bool:
    """Whether the process whose id stands in a file has ended; not so patient that it would end by itself."""
    pid = int(path.read_text())
    for _ in range(1_000):
        if not is_running(pid):
            return True
        time.sleep(0.02)
    return False


async def appears(path: Path) -> None:
    for _ in range(6_000):
        if path.exists() and path.read_text().strip():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


async def test_bash_gives_output_of_both_kinds_in_order(shop: Workshop, workspace: Path) -> None:
    result = await shop.one("bash", command="echo a; echo b >&2; echo c; pwd")
    assert text(result) == f"a\nb\nc\n{workspace}"
    assert result.meta == {"exitStatus": 0, "bytes": len(text(result)) + 1}


async def test_bash_says_how_a_command_ended(shop: Workshop) -> None:
    failed = await shop.one("bash", command="echo no; exit 3")
    assert (code(failed), text(failed)) == ("COMMAND_FAILED", "no\n[exit status 3]")
    killed = await shop.one("bash", command="kill -9 $$")
    assert "[ended by signal 9]" in text(killed)
    assert text(await shop.one("bash", command="true")) == "[no output]"


async def test_bash_has_no_input_to_wait_for(shop: Workshop) -> None:
    assert text(await shop.one("bash", command="cat; read x; echo end")) == "end"


async def test_bash_ends_a_command_that_takes_too_long_with_all_it_started(shop: Workshop, workspace: Path) -> None:
    command = (
        "trap '' TERM; echo begun; (trap '' TERM; echo $BASHPID > inner; sleep 60 & wait; sleep 60) & wait; sleep 60"
    )
    result = await shop.one("bash", command=command, timeout=0.5)
    assert code(result) == "TOOL_TIMEOUT"
    assert "begun" in text(result)
    assert ended(workspace / "inner")


async def test_bash_ends_the_command_when_the_call_is_cancelled(shop: Workshop, workspace: Path) -> None:
    command = call("bash", command="echo begun; echo $$ > pid; sleep 60")
    shop.open_step(command)
    working = asyncio.create_task(shop.tools.answer([command], shop.bench))
    await appears(workspace / "pid")
    working.cancel()
    await asyncio.wait({working})
    (result,) = shop.results()
    assert code(result) == "TOOL_CANCELLED"
    assert text(result).startswith("begun\n[cancelled")
    assert ended(workspace / "pid")


@pytest.mark.parametrize("leave", ["", "setsid "])
async def test_bash_does_not_wait_for_what_forks_and_leaves_and_ends_it(
    shop: Workshop, workspace: Path, leave: str
) -> None:
    result = await shop.one("bash", command=f"{leave}sleep 60 & echo $! > pid; echo done")
    assert text(result).startswith("done")
    assert ended(workspace / "pid")


async def test_bash_keeps_head_and_tail_of_long_output_and_the_whole_in_a_blob(shop: Workshop) -> None:
    told = text(await shop.one("bash", command="seq 1 100000"))
    assert told.startswith("1\n2\n")
    assert told.endswith("99999\n100000")
    assert "bytes cut; read `blob:" in told
    assert len(told) < 31_000
    (whole,) = shop.blobs.kept.values()
    assert whole == "".join(f"{n}\n" for n in range(1, 100_001)).encode()


async def test_bash_ends_a_command_that_writes_without_end(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["everlog.tools.builtin.bash"], "MAX_OUTPUT_BYTES", 1_000_000)
    result = await shop.one("bash", command="yes")
    assert code(result) == "TOOL_TIMEOUT"
    assert "wrote more than 1,000,000 bytes" in text(result)
    assert module.name == "bash"


async def test_a_command_runs_on_in_the_background_and_is_asked_how_it_goes(shop: Workshop, workspace: Path) -> None:
    begun = await shop.one("bash", command="echo one; until [ -e go ]; do sleep 0.02; done; echo two", background=True)
    assert "job-1" in text(begun)
    for _ in range(3_000):
        told = text(await shop.one("bash_output", job="job-1"))
        if "one" in told:
            break
        await asyncio.sleep(0.02)
    assert told == "one\n[job-1: running]"
    assert text(await shop.one("bash_output", job="job-1")) == "[job-1: running]"
    (workspace / "go").touch()
    assert text(await shop.one("bash_output", job="job-1", wait=60)) == "two\n[job-1: exit status 0]"


async def test_a_command_in_the_background_can_be_stopped_with_all_that_it_started(
    shop: Workshop, workspace: Path
) -> None:
    await shop.one("bash", command="(echo $BASHPID > inner; sleep 60) & sleep 60", background=True)
    await appears(workspace / "inner")
    assert "[job-1: ended: it was stopped]" in text(await shop.one("bash_stop", job="job-1"))
    assert ended(workspace / "inner")
    assert code(await shop.one("bash_stop", job="job-2")) == "NO_SUCH_JOB"


async def test_jobs_end_with_their_agent(shop: Workshop, workspace: Path) -> None:
    await shop.one("bash", command="echo $$ > pid; sleep 60", background=True)
    await appears(workspace / "pid")
    await shop.scope.close()
    assert ended(workspace / "pid")


def test_a_command_does_not_outlive_an_everlog_that_is_killed(workspace: Path) -> None:
    program = """
import asyncio, sys
from pathlib import Path
from everlog.tools.builtin import bash
from everlog.tools.seam import ToolContext
command = "(trap '' TERM HUP; echo $BASHPID > inner; sleep 60; sleep 60) & wait"
asyncio.run(bash(ToolContext(cwd=Path(sys.argv[1])), command=command))
"""
    everlog = subprocess.Popen([sys.executable, "-c", program, str(workspace)])
    for _ in range(3_000):
        if (workspace / "inner").exists() and (workspace / "inner").read_text().strip():
            break
        time.sleep(0.02)
    everlog.kill()
    everlog.wait()
    assert ended(workspace / "inner")


async def test_the_watcher_is_no_child_that_a_command_might_wait_for(shop: Workshop) -> None:
    program = "import os\ntry:\n os.wait()\nexcept ChildProcessError:\n print('no children')"
    assert text(await shop.one("bash", command=f'exec {sys.executable} -c "{program}"')) == "no children"


async def test_output_that_is_not_text_is_made_safe(shop: Workshop) -> None:
    assert text(await shop.one("bash", command=r"printf '\xff\x00\xf0\x9f\x98'")) == "\ufffd\0\ufffd"


async def test_commands_do_not_see_secrets(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "COPY_OF_IT"):
        monkeypatch.setenv(name, "sk-very-secret-value")
    monkeypatch.setenv("HARMLESS", "yes")
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    told = text(await shop.one("bash", command="env"))
    assert "sk-very-secret-value" not in told
    assert "HARMLESS=yes" in told
    assert "SHORT_TOKEN" not in told


async def test_a_secret_that_is_found_all_the_same_reaches_neither_log_nor_blob(
    shop: Workshop, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", 'sk-"very"-secret-value')
    (workspace / "found").write_text('key: sk-"very"-secret-value\n' * 5_000)
    await shop.one("bash", command="cat found")
    await shop.one("read", file_path="found", limit=1)
    await shop.one("edit", file_path="found", old_string="key", new_string="clef", replace_all=True)
    await shop.one("grep", pattern="secret")
    assert shop.blobs.kept
    everything = [event.to_json() for event in shop.session.events] + list(shop.blobs.kept.values())
    assert not any(b"secret-value" in data for data in everything)
    assert b"[value of OPENAI_API_KEY removed]" in b"".join(everything)
