"""Facts are told when they are new, when they changed, and when they went out of the model's sight; never else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.agent.stage import MODEL, call, payloads
from tests.session.stories import Story

from everlog.harness import Harness
from everlog.kernel import Config, Kernel, Scope
from everlog.llm.script import scripted
from everlog.prompt.context import contexts
from everlog.prompt.facts import git, plan, today, workspace
from everlog.prompt.seam import Contexts, Fact
from everlog.session import Session
from everlog.session.messages import Message
from everlog.session.rules import check
from everlog.tools.permissions.policy import Permissions
from everlog.tools.seam import Answer, Approver, Question

SCOPE = Scope("agent")


@pytest.fixture
async def kernel() -> AsyncIterator[Kernel]:
    async with Kernel([contexts]) as kernel:
        yield kernel


def due(kernel: Kernel, session: Session) -> list[str]:
    return [message.text for message in kernel[Contexts].due(kernel.root, session)]


def tell(kernel: Kernel, session: Session) -> Message:
    [message] = kernel[Contexts].due(kernel.root, session)
    session.append(message, "append")
    return message


def weather(*texts: str | None) -> Fact:
    """A fact that is the next text at each look, and the last one for good."""
    left = list(texts)
    return Fact("weather", lambda log, scope: left.pop(0) if len(left) > 1 else left[0])


async def test_a_fact_is_told_once_and_again_when_it_changed(kernel: Kernel) -> None:
    kernel[Contexts].add_fact(weather("rain", "rain", "sun"))
    kernel[Contexts].add_fact(Fact("day", lambda log, scope: "Monday"))
    session = Story().session
    first = tell(kernel, session)
    assert "weather: rain" in first.text
    assert "day: Monday" in first.text
    assert due(kernel, session) == []
    second = tell(kernel, session)
    assert "weather: sun" in second.text
    assert "Monday" not in second.text
    assert due(kernel, session) == []


@pytest.mark.parametrize("text", ["a\nb", "a\n\nb: c\n  d", "\ud800 half", "x: y"])
async def test_a_fact_of_any_text_is_known_again(kernel: Kernel, text: str) -> None:
    kernel[Contexts].add_fact(weather(text))
    session = Story().session
    tell(kernel, session)
    assert due(kernel, session) == []


async def test_a_fact_with_nothing_to_say_takes_nothing_back(kernel: Kernel) -> None:
    kernel[Contexts].add_fact(weather("rain", None))
    session = Story().session
    tell(kernel, session)
    assert due(kernel, session) == []


async def test_a_fact_that_a_compaction_took_from_view_is_told_again(kernel: Kernel) -> None:
    kernel[Contexts].add_fact(weather("rain"))
    story = Story()
    story.turn()
    story.step()
    tell(kernel, story.session)
    story.prompt("hello")
    assert due(kernel, story.session) == []
    story.compact(*story.session.surface.nodes)
    assert "weather: rain" in due(kernel, story.session)[0]


async def test_what_was_told_is_read_from_the_log_and_so_survives_a_reload(kernel: Kernel) -> None:
    kernel[Contexts].add_fact(weather("rain"))
    session = Story().session
    tell(kernel, session)
    assert due(kernel, session.fork()) == []


async def test_a_fact_that_fails_is_left_out_and_hides_no_other(kernel: Kernel) -> None:
    def broken(log: Any, scope: Any) -> str:
        raise RuntimeError("no sensor")

    kernel[Contexts].add_fact(Fact("broken", broken))
    kernel[Contexts].add_fact(weather("rain"))
    assert "weather: rain" in tell(kernel, Story().session).text


async def test_an_agents_fact_hides_the_one_of_the_same_name(kernel: Kernel) -> None:
    kernel[Contexts].add_fact(weather("rain"))
    async with kernel.root.child("agent") as agent:
        kernel[Contexts].add_fact(weather("sun"), agent)
        [message] = kernel[Contexts].due(agent, Story().session)
        assert "sun" in message.text
        assert "rain" not in message.text


def test_the_date_is_told_with_its_day() -> None:
    assert today(lambda: date(2026, 11, 30))(Story().session, SCOPE) == "Monday, 2026-11-30"


def test_the_workspace_is_the_sessions_folder_else_this_processes() -> None:
    assert workspace(Session.create({"cwd": "/there"}), SCOPE).startswith("/there (")
    assert workspace(Session.create(), SCOPE).startswith(os.getcwd())


def test_packed_refs_are_read_anew_when_they_changed(tmp_path: Path) -> None:
    repository = tmp_path / ".git"
    repository.mkdir()
    (repository / "HEAD").write_text("ref: refs/heads/trunk\n")
    for digit in "ab":
        (repository / "packed").write_text(
            f"# pack-refs\n{'c' * 40} refs/heads/my/refs/heads/x\n{digit * 40} refs/heads/trunk\n"
        )
        (repository / "packed").replace(repository / "packed-refs")
        assert git(in_folder(tmp_path), SCOPE) == f"branch trunk, commit {digit * 12}"


def in_folder(path: Path) -> Session:
    return Session.create({"cwd": str(path)})


def run_git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_repository_is_told_by_branch_and_commit_also_in_its_worktrees(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    assert git(in_folder(repository), SCOPE) is None
    run_git(repository, "init", "-q", "-b", "trunk")
    assert git(in_folder(repository), SCOPE) == "branch trunk, no commit yet"
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "one")
    commit = run_git(repository, "rev-parse", "HEAD")[:12]
    (repository / "deep" / "down").mkdir(parents=True)
    assert git(in_folder(repository / "deep" / "down"), SCOPE) == f"branch trunk, commit {commit}"
    run_git(repository, "pack-refs", "--all")
    assert git(in_folder(repository), SCOPE) == f"branch trunk, commit {commit}"
    run_git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "other"))
    assert git(in_folder(tmp_path / "other"), SCOPE) == f"branch side, commit {commit}"
    run_git(repository, "checkout", "-q", "--detach")
    assert git(in_folder(repository), SCOPE) == f"no branch, commit {commit}"
    (repository / ".git" / "MERGE_HEAD").write_text(commit)
    assert git(in_folder(repository), SCOPE) == f"no branch, commit {commit}, a merge under way"


@pytest.mark.parametrize(
    "head", ["", "ref: ../../etc/passwd", "ref: refs/heads/../../x", "ref: refs/heads/do as I say", "not a commit"]
)
def test_a_repository_of_odd_files_is_none(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    assert git(in_folder(tmp_path), SCOPE) is None


def test_a_repository_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert git(in_folder(tmp_path), SCOPE) is None


def test_the_plan_is_told_once_the_call_that_wrote_it_is_out_of_sight() -> None:
    story = Story()
    story.turn()
    story.step()
    story.prompt("do it")
    story.answer(calls=["c"])
    story.call("c")
    assert plan(story.session, SCOPE) is None
    story.session.append_json("todo/write", {"todos": [{"content": "build", "status": "pending"}]})
    story.result("c")
    assert plan(story.session, SCOPE) is None
    story.compact(story.session.surface.nodes[0], story.session.surface.nodes[-1])
    assert plan(story.session, SCOPE) == "the to-do list\n[pending] build"


FACTS = '[plugins]\ndisable = ["builtin-tools"]\n[permissions]\nmode = "full"\n'


async def test_a_change_of_the_permission_mode_is_told_at_the_next_step(tmp_path: Path) -> None:
    answers = [[call("nothing")], "a", "b"]
    async with Harness(Config.parse(FACTS), "memory:", [scripted({"it": answers})]) as harness:
        agent = await harness.agents.create(MODEL, cwd=tmp_path)
        agent.followup("one")
        await agent.when_idle()
        first = payloads(agent.session, "user/message")
        assert [message.source.get("plugin") for message in first] == ["facts", None]
        assert f"workspace: {tmp_path}" in first[0].text
        assert "permissions: whatever stays inside" in first[0].text
        harness.kernel[Permissions].use_mode("read-only", agent.scope)
        agent.followup("two")
        await agent.when_idle()
        [*_, told, prompt] = payloads(agent.session, "user/message")
        assert "permissions: you may look" in told.text
        assert "workspace" not in told.text
        assert prompt.text == "two"
        assert agent.session.surface.generation == 1
        assert check(agent.session) == []


class Person(Approver):
    async def approve(self, question: Question) -> Answer:
        return Answer("allowed-once")


@pytest.mark.parametrize("mode", ["ask", "edit", "full"])
async def test_whether_a_person_can_be_asked_is_told_as_it_is(tmp_path: Path, mode: str) -> None:
    facts = FACTS.replace('"full"', f'"{mode}"')
    async with Harness(Config.parse(facts), "memory:", [scripted({"it": ["a", "b"]})]) as harness:
        agent = await harness.agents.create(MODEL, cwd=tmp_path)
        agent.followup("with nobody")
        await agent.when_idle()
        agent.scope.provide(Approver, Person())
        agent.followup("with somebody")
        await agent.when_idle()
        told = [m.text for m in payloads(agent.session, "user/message") if "permissions: " in m.text]
    assert ["nobody can be asked" in text for text in told] == [True, False]
    assert "asked" in told[1]
