"""`everlog run` and `everlog resume` in real processes, with a script for a model and real tools."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import time

import pytest
from tests.cli.conftest import Cli, Done
from tests.session.stories import Story

from everlog import open_store
from everlog.tools.sandbox import unusable

TWO_READS = """
- - text: Both files.
  - call: {name: read, arguments: {file_path: a.txt}}
  - call: {name: read, arguments: {file_path: b.txt}}
- Alpha and beta.
"""
SLEEPER = """
- - text: I will wait.
  - call: {name: bash, arguments: {command: "touch started; sleep 30"}}
- Woken.
- And again.
"""


def with_files(cli: Cli) -> None:
    (cli.work / "a.txt").write_text("alpha")
    (cli.work / "b.txt").write_text("beta")


def wait_for(cli: Cli, name: str) -> None:
    deadline = time.monotonic() + 30
    while not (cli.work / name).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def views(cli: Cli, session: str, view: str) -> Done:
    return cli("show", session, "--view", view, "--json")


def test_a_run_tells_the_session_the_calls_and_the_answer(cli: Cli) -> None:
    with_files(cli)
    done = cli("run", "read", "both", "--model", cli.script(TWO_READS))
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[0].startswith("session ")
    assert "● read  a.txt" in lines
    assert any("alpha" in line for line in lines)
    assert "Alpha and beta." in lines
    assert "turn 1 completed  2 steps" in lines[-1]
    assert done.err == ""


def test_a_run_says_that_a_script_answers(cli: Cli) -> None:
    assert "from a script" in cli("run", "go", "--model", cli.script("- Done.")).out


def test_json_is_one_object_at_the_end(cli: Cli) -> None:
    with_files(cli)
    result = cli.ran(TWO_READS)
    assert result["text"] == "Alpha and beta."
    assert result["reason"] == {"kind": "completed"}
    assert (result["turn"], result["steps"]) == (1, 2)


def test_stream_json_gives_each_event_as_the_log_has_it(cli: Cli) -> None:
    with_files(cli)
    done = cli("run", "go", "--model", cli.script(TWO_READS), "--output", "stream-json")
    first, *events, last = [json.loads(line) for line in done.out.splitlines()]
    assert (first["kind"], last["kind"]) == ("session", "result")
    stored = views(cli, first["id"], "log").json
    assert [line["event"] for line in events] == stored


def test_the_prompt_may_come_from_a_pipe(cli: Cli) -> None:
    done = cli("run", "--model", cli.script("- Done."), "--output", "json", input="what is to be done\n")
    assert "what is to be done" in views(cli, done.json["session"], "messages").out


def test_a_step_limit_ends_the_turn_with_its_own_exit_code(cli: Cli) -> None:
    with_files(cli)
    done = cli("run", "go", "--model", cli.script(TWO_READS), "--max-steps", "1")
    assert done.code == 3, done
    assert "step limit" in done.err
    assert done.err.count("\n") == 1


def test_resume_goes_on_with_the_last_session(cli: Cli) -> None:
    first = cli.ran("- One.\n- Two.")
    done = cli("resume", "--last", "and", "then?", "--output", "json")
    assert done.code == 0, done
    assert (done.json["session"], done.json["turn"], done.json["text"]) == (first["session"], 2, "Two.")


def test_resume_takes_the_beginning_of_an_id_and_another_model(cli: Cli) -> None:
    first = cli.ran("- One.")
    other = cli.script("- Unused.\n- Another says this.", "other.yaml")
    done = cli("resume", first["session"][:8], "--follow-up", "go on", "--model", other, "--output", "json")
    assert done.json["text"] == "Another says this.", done
    reasons = [
        event["data"]["reason"]
        for event in views(cli, first["session"], "log").json
        if event["type"] == "request/header"
    ]
    assert reasons == ["initial", "resume"]


def test_resume_without_a_prompt_works_on_what_waits(cli: Cli) -> None:
    """Input that a killed process had not taken up is pending, and is not lost."""

    async def queue(id: str) -> None:
        async with open_store(f"sqlite:///{cli.database}") as store, await store.open(id, "write") as session:
            Story(session).queue("waiting")

    first = cli.ran("- One.\n- Two.")
    asyncio.run(queue(first["session"]))
    assert "1 input not yet taken up" in cli("show", "--last").out
    done = cli("resume", "--last", "--output", "json")
    assert (done.code, done.json["text"]) == (0, "Two."), done
    assert "text of waiting" in cli("show", "--last").out


def test_resume_says_that_the_folder_of_a_session_is_gone(cli: Cli) -> None:
    (cli.work / "inner").mkdir()
    cli.ran("- One.\n- - call: {name: glob, arguments: {pattern: '*'}}\n- Gone.", "go", "--cwd", "inner")
    (cli.work / "inner").rmdir()
    done = cli("resume", "--last", "go on")
    assert done.code == 0, done
    assert "inner is not there" in done.out
    assert "Gone." in done.out


def test_resume_without_a_prompt_says_that_nothing_waits(cli: Cli) -> None:
    cli.ran("- One.")
    done = cli("resume", "--last")
    assert done.code == 2
    assert "nothing waits" in done.err


def test_killed_inside_a_tool_shown_and_resumed(cli: Cli) -> None:
    process = cli.start("run", "go", "--model", cli.script(SLEEPER), "--permissions", "full")
    wait_for(cli, "started")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    shown = cli("show", "--last")
    assert "interrupted: the process ended in the middle of turn 1" in shown.out
    assert "TOOL_OUTCOME_UNKNOWN" in shown.out
    before = views(cli, cli("sessions", "--json").json[0]["id"], "messages").json
    done = cli("resume", "--last", "what now?", "--output", "json")
    assert done.code == 0, done
    assert done.json["text"] == "Woken."
    after = views(cli, done.json["session"], "messages").json
    assert after[: len(before)] == before
    assert "session/end-seed" in [event["type"] for event in views(cli, done.json["session"], "log").json]


def test_show_says_running_while_another_process_writes(cli: Cli) -> None:
    process = cli.start("run", "go", "--model", cli.script(SLEEPER), "--permissions", "full")
    wait_for(cli, "started")
    shown = cli("show", "--last")
    listed = cli("sessions")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert "running: another process writes it now" in shown.out
    assert "interrupted" not in shown.out
    assert "running" in listed.out


def test_a_second_writer_is_told_who_holds_the_session(cli: Cli) -> None:
    process = cli.start("run", "go", "--model", cli.script(SLEEPER), "--permissions", "full")
    wait_for(cli, "started")
    refused = cli("resume", "--last", "me too")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert refused.code == 1
    assert f"pid {process.pid}" in refused.err
    assert refused.err.count("\n") == 1


def test_ctrl_c_cancels_the_turn_and_answers_every_call(cli: Cli) -> None:
    process = cli.start("run", "go", "--model", cli.script(SLEEPER), "--permissions", "full")
    wait_for(cli, "started")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "cancelled by the user" in out
    assert "Traceback" not in out + err
    steps = views(cli, cli("sessions", "--json").json[0]["id"], "steps").json
    assert [call["outcome"] for call in steps[0]["calls"]] == ["failed"]
    assert cli("resume", "--last", "go on", "--output", "json").json["text"] == "Woken."


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_and_the_session_stays_intact(cli: Cli, number: int) -> None:
    process = cli.start("run", "go", "--model", cli.script(SLEEPER), "--permissions", "full")
    wait_for(cli, "started")
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    while "cancelling the turn" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert cli("resume", "--last", "go on").code == 0


WRITER = """
- - call: {name: write, arguments: {file_path: new.txt, content: hello}}
- Then not.
"""


def test_without_a_person_to_ask_what_changes_things_is_refused_and_that_is_said(cli: Cli) -> None:
    done = cli("run", "go", "--model", cli.script(WRITER))
    assert done.code == 0, done
    assert "nobody is here to be asked" in done.out
    assert not (cli.work / "new.txt").exists()
    steps = views(cli, cli("sessions", "--json").json[0]["id"], "steps").json
    assert [call["outcome"] for call in steps[0]["calls"]] == ["refused"]


@pytest.mark.parametrize(("mode", "written"), [("read-only", False), ("edit", True), ("full", True)])
def test_a_permission_mode_says_what_runs_unasked(cli: Cli, mode: str, written: bool) -> None:
    assert cli("run", "go", "--model", cli.script(WRITER), "--permissions", mode).code == 0
    assert (cli.work / "new.txt").exists() is written


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="another system cannot change the limits of a process")
def test_a_store_that_cannot_be_written_is_told_and_the_turn_goes_on_when_it_can(cli: Cli) -> None:
    """As a disk that is full for a while: nothing is lost, and nobody has to do anything here."""
    answers = f"""
- - call: {{name: bash, arguments: {{command: "touch started; sleep 2"}}}}
- - text: {"word " * 20_000}
  - call: {{name: write, arguments: {{file_path: after.txt, content: "1"}}}}
- At last.
"""
    process = cli.start("run", "go", "--model", cli.script(answers), "--permissions", "full")
    wait_for(cli, "started")
    unlimited = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    largest = max(path.stat().st_size for path in cli.database.parent.glob("sessions.db*") if path.is_file())
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, unlimited[1]))
    assert process.stdout is not None
    while "waiting for the store" not in process.stdout.readline():
        assert process.poll() is None
    assert not (cli.work / "after.txt").exists()
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert "the store writes again" in out
    assert (cli.work / "after.txt").exists()
    assert "At last." in cli("show", "--last").out


@pytest.mark.skipif(unusable() is not None, reason=str(unusable()))
def test_commands_of_a_sandboxed_run_write_only_in_the_folder(cli: Cli) -> None:
    outside = cli.work.parent / "outside.txt"
    script = cli.script(f"- - call: {{name: bash, arguments: {{command: 'touch inside.txt {outside}'}}}}\n- Done.\n")
    done = cli("run", "go", "--model", script, "--permissions", "full", "--sandbox")
    assert done.code == 0, done
    assert (cli.work / "inside.txt").exists()
    assert not outside.exists()


def test_a_run_whose_reader_leaves_ends_in_good_order(cli: Cli) -> None:
    script = cli.script("- - text: I will look.\n  - call: {name: bash, arguments: {command: seq 1 50}}\n- Done.\n")
    process = cli.start("run", "go", "--model", script, "--permissions", "full")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("session ")
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    [session] = cli("sessions", "--json").json
    assert cli("verify", session["id"]).code == 0
