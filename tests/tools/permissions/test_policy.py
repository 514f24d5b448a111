"""Modes and rules over real calls: what runs, what is refused, and what a person is asked."""

import asyncio
from pathlib import Path

import pytest
from tests.tools.workshop import Workshop, call, code, text

from everlog.kernel import Config, ConfigError, Kernel
from everlog.session.payloads import ApprovalAsked, ApprovalDecided
from everlog.session.repair import closers
from everlog.tools.declare import tool
from everlog.tools.hooks import GUARD, Examination
from everlog.tools.permissions import Permissions
from everlog.tools.permissions.settings import rules_from
from everlog.tools.plugin import tools as tools_plugin
from everlog.tools.seam import Answer, Approver, Question, Tools


class Person(Approver):
    """Answers as told, and remembers the questions."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def approve(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answers.pop(0)


ONCE, ALWAYS, NO = Answer("allowed-once"), Answer("allowed-always"), Answer("rejected", note="use another way")


@tool(network=True, effects="read-only", subject="url")
async def visit(url: str) -> str:
    """Visit an address."""
    return url


def guarded(workspace: Path, toml: str = "", person: Approver | None = None) -> Workshop:
    """A workshop whose calls are judged by the configuration, with a person to ask or none."""
    from everlog.tools.hooks import POLICY

    shop = Workshop(workspace)
    shop.tools.add(visit)
    permissions = Permissions(rules_from(Config.parse(toml)), shop.scope)
    shop.scope.provide(Permissions, permissions)
    shop.scope.on(POLICY, permissions.decide)
    if person is not None:
        shop.scope.provide(Approver, person)
    return shop


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / "a.txt").write_text("a\n")
    (workspace.parent / "outside.txt").write_text("secret\n")
    (workspace / "link.txt").symlink_to(workspace.parent / "outside.txt")
    (workspace / "up").symlink_to(workspace.parent)
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("[core]\n")
    return workspace


READS = ("read", {"file_path": "a.txt"})
SEARCHES = ("grep", {"pattern": "a"})
EDITS = ("edit", {"file_path": "a.txt", "old_string": "a", "new_string": "b"})
COMMANDS = ("bash", {"command": "true"})
NOTES = ("todo_write", {"todos": []})
VISITS = ("visit", {"url": "https://example.org/"})
READS_OUTSIDE = ("read", {"file_path": "../outside.txt"})
READS_THROUGH_A_LINK = ("read", {"file_path": "link.txt"})
SEARCHES_BY_A_BLOBS_NAME = ("grep", {"pattern": "secret", "path": "blob:/../.."})
WRITES_BY_A_BLOBS_NAME = ("write", {"file_path": "blob:x/../../new.txt", "content": "b"})
SEARCHES_THROUGH_A_LINK = ("grep", {"pattern": "secret", "path": "up"})
EDITS_THROUGH_A_LINK = ("edit", {"file_path": "up/outside.txt", "old_string": "secret", "new_string": "b"})
EDITS_GIT = ("edit", {"file_path": ".git/config", "old_string": "[core]", "new_string": "[x]"})


@pytest.mark.parametrize(
    ("made", "decisions"),
    [
        (READS, {"read-only": "run", "ask": "run", "edit": "run", "full": "run"}),
        (SEARCHES, {"read-only": "run", "ask": "run", "edit": "run", "full": "run"}),
        (NOTES, {"read-only": "run", "ask": "run", "edit": "run", "full": "run"}),
        (EDITS, {"read-only": "refuse", "ask": "ask", "edit": "run", "full": "run"}),
        (COMMANDS, {"read-only": "refuse", "ask": "ask", "edit": "ask", "full": "run"}),
        (VISITS, {"read-only": "ask", "ask": "ask", "edit": "ask", "full": "run"}),
        (READS_OUTSIDE, {"read-only": "ask", "ask": "ask", "edit": "ask", "full": "ask"}),
        (READS_THROUGH_A_LINK, {"read-only": "ask", "ask": "ask", "edit": "ask", "full": "ask"}),
        (SEARCHES_THROUGH_A_LINK, {"read-only": "ask", "ask": "ask", "edit": "ask", "full": "ask"}),
        (SEARCHES_BY_A_BLOBS_NAME, {"read-only": "ask", "ask": "ask", "edit": "ask", "full": "ask"}),
        (WRITES_BY_A_BLOBS_NAME, {"read-only": "refuse", "ask": "ask", "edit": "ask", "full": "ask"}),
        (EDITS_THROUGH_A_LINK, {"read-only": "refuse", "ask": "ask", "edit": "ask", "full": "ask"}),
        (EDITS_GIT, {"read-only": "refuse", "ask": "ask", "edit": "ask", "full": "run"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("mode", ["read-only", "ask", "edit", "full"])
async def test_each_mode(
    workspace: Path, mode: str, made: tuple[str, dict[str, object]], decisions: dict[str, str]
) -> None:
    person = Person(ONCE)
    shop = guarded(workspace, f"[permissions]\nmode = '{mode}'", person)
    result = await shop.one(made[0], **made[1])
    expected = decisions[mode]
    assert len(person.questions) == (expected == "ask")
    assert (code(result) == "PERMISSION_DENIED") == (expected == "refuse")
    assert result.error is None or expected == "refuse"


@pytest.mark.parametrize(("rule", "asked"), [("edit", 1), ("edit(*)", 1), ("edit(.git/*)", 0)])
async def test_only_a_rule_that_names_git_permits_changes_there(workspace: Path, rule: str, asked: int) -> None:
    person = Person(ONCE)
    shop = guarded(workspace, f"[permissions]\nallow = ['{rule}', 'read']", person)
    await shop.one("read", file_path=".git/config")
    await shop.one(EDITS_GIT[0], **EDITS_GIT[1])
    assert len(person.questions) == asked


async def test_without_anybody_to_ask_the_answer_is_no_and_the_model_is_told(workspace: Path) -> None:
    shop = guarded(workspace)
    result = await shop.one("bash", command="touch made")
    assert code(result) == "PERMISSION_DENIED"
    assert "nobody is there to be asked" in text(result)
    assert not (workspace / "made").exists()
    decided = [event.data for event in shop.session.events if isinstance(event.data, ApprovalDecided)]
    assert [decision.outcome for decision in decided] == ["unavailable"]


async def test_question_and_answer_are_events_and_durable_in_time(workspace: Path) -> None:
    shop = guarded(workspace, person=Person(ONCE))
    result = await shop.one("bash", command="echo hi")
    assert text(result) == "hi"
    types = shop.types()
    at = types.index("approval/asked")
    assert types[at - 1 : at + 3] == ["tool/call", "approval/asked", "approval/decided", "tool/result"]
    assert shop.flushed == [at + 1, at + 2]  # before the person is asked, and before the command runs
    asked = shop.session.events[at].data
    assert isinstance(asked, ApprovalAsked)
    assert (asked.tool_name, asked.call_id) == ("bash", result.message.result and result.message.result.tool_call_id)


async def test_a_no_reaches_the_model_with_its_words(workspace: Path) -> None:
    result = await guarded(workspace, person=Person(NO)).one("bash", command="touch made")
    assert code(result) == "PERMISSION_DENIED"
    assert "use another way" in text(result)
    assert not (workspace / "made").exists()


async def test_always_holds_for_the_session_and_only_for_what_it_says(workspace: Path) -> None:
    person = Person(ALWAYS, ALWAYS, ONCE, ONCE)
    shop = guarded(workspace, person=person)
    await shop.one("bash", command="echo *")
    await shop.one("bash", command="echo *")
    await shop.one("edit", file_path="a.txt", old_string="a", new_string="b")
    await shop.one("edit", file_path="a.txt", old_string="b", new_string="c")
    assert [question.rule for question in person.questions] == [r"bash(echo \*)", "edit(*)"]
    await shop.one("bash", command="echo x")
    await shop.one("edit", file_path="link.txt", old_string="secret", new_string="b")
    assert len(person.questions) == 4


async def test_a_fork_inherits_no_permission(workspace: Path) -> None:
    shop = guarded(workspace, person=Person(ALWAYS))
    await shop.one("bash", command="true")
    fork = guarded(workspace)
    fork.session = shop.session.fork()
    assert code(await fork.one("bash", command="true")) == "PERMISSION_DENIED"
    assert code(await shop.one("bash", command="true")) is None


async def test_two_calls_put_one_question_at_a_time_and_an_always_answers_both(workspace: Path) -> None:
    person = Person(ALWAYS)
    shop = guarded(workspace, person=person)
    outside = [call("read", file_path="../outside.txt"), call("read", file_path="up/outside.txt")]
    results = await shop.step(*outside)
    assert [code(result) for result in results] == [None, None]
    assert len(person.questions) == 1


async def test_cancelling_while_a_person_is_asked_starts_nothing(workspace: Path) -> None:
    asked = asyncio.Event()

    class Slow(Approver):
        async def approve(self, question: Question) -> Answer:
            asked.set()
            await asyncio.Event().wait()
            return ONCE

    shop = guarded(workspace, person=Slow())
    working = asyncio.create_task(shop.step(call("bash", command="touch made")))
    await asked.wait()
    [closer] = [event.data for event in closers(shop.session) if event.type == "tool/result"]
    assert code(closer) == "TOOL_NOT_STARTED"  # type: ignore[arg-type]  # what a crash at this point comes to
    working.cancel()
    await asyncio.wait({working})
    assert [code(result) for result in shop.results()] == ["TOOL_NOT_STARTED"]
    decided = [event.data for event in shop.session.events if isinstance(event.data, ApprovalDecided)]
    assert [decision.outcome for decision in decided] == ["cancelled"]
    assert not (workspace / "made").exists()


async def test_an_approver_that_fails_grants_nothing(workspace: Path) -> None:
    class Broken(Approver):
        async def approve(self, question: Question) -> Answer:
            raise RuntimeError

    assert code(await guarded(workspace, person=Broken()).one("bash", command="true")) == "PERMISSION_DENIED"


async def test_rules_refuse_before_they_ask_before_they_permit(workspace: Path) -> None:
    toml = """
        [permissions]
        allow = ["bash(git *)", "bash(ls*)", "visit(https://docs.python.org/*)", "read(/etc/hostname)"]
        ask = ["bash(git push*)"]
        deny = ["bash(*--force*)", "read(*.pem)", "read(/etc/shadow)"]
    """
    person = Person(NO, NO)
    shop = guarded(workspace, toml, person)
    (workspace / "key.pem").write_text("k\n")
    assert code(await shop.one("bash", command="ls")) is None
    assert code(await shop.one("visit", url="https://docs.python.org/3/")) is None
    assert code(await shop.one("read", file_path="/etc/hostname")) is None
    assert not person.questions
    assert "the rule bash(*--force*) refuses it" in text(await shop.one("bash", command="git push --force"))
    assert code(await shop.one("read", file_path="key.pem")) == "PERMISSION_DENIED"
    assert not person.questions
    await shop.one("bash", command="git push")
    await shop.one("visit", url="https://docs.python.org.evil.example/")
    assert len(person.questions) == 2


async def test_guards_refuse_or_have_asked_what_the_policy_permits(workspace: Path) -> None:
    person = Person(ONCE)
    shop = guarded(workspace, "permissions.mode = 'full'", person)

    async def guard(examination: Examination) -> str | None:
        command = str(examination.use.arguments.get("command"))
        if "deploy" in command:
            examination.require_consent("it deploys")
        return "no curl here" if "curl" in command else None

    shop.scope.on(GUARD, guard)
    assert "no curl here" in text(await shop.one("bash", command="curl x"))
    await shop.one("bash", command="echo deploy")
    assert [(question.reason, question.rule) for question in person.questions] == [("it deploys", None)]


async def test_a_guard_that_breaks_down_refuses(workspace: Path) -> None:
    shop = guarded(workspace, "permissions.mode = 'full'")

    async def guard(examination: Examination) -> str | None:
        raise RuntimeError

    shop.scope.on(GUARD, guard)
    assert code(await shop.one("bash", command="true")) == "PERMISSION_DENIED"


async def test_the_mode_can_be_set_for_one_agent_and_taken_back(workspace: Path) -> None:
    shop = guarded(workspace)
    permissions = shop.scope[Permissions]
    with permissions.use_mode("full", shop.scope):
        assert code(await shop.one("bash", command="true")) is None
    assert permissions.mode(shop.scope) == "ask"
    assert code(await shop.one("bash", command="true")) == "PERMISSION_DENIED"


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setattr("platformdirs.user_config_path", lambda *a, **k: folder)
    return folder / "everlog.toml"


def test_what_a_project_brings_can_only_tighten(user: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    brought = project / "everlog.toml"
    user.write_text("[permissions]\nmode = 'edit'\nallow = ['bash(make)']\n")
    brought.write_text(
        "[permissions]\nmode = 'full'\nallow = ['bash']\ndeny = ['bash(rm *)']\nkeep_env = ['OPENAI_API_KEY']\n"
    )
    rules = rules_from(Config.load(project, {}))
    assert rules.mode == "edit"
    assert [str(rule) for rule in rules.allow] == ["bash(make)"]
    assert [str(rule) for rule in rules.deny] == ["bash(rm *)"]
    assert not rules.keep_env
    brought.write_text("[permissions]\nmode = 'read-only'\n")
    assert rules_from(Config.load(project, {})).mode == "read-only"


def test_a_rule_that_cannot_be_read_is_told_with_its_place(user: Path) -> None:
    user.write_text("[permissions]\nallow = ['bash (x']\n")
    with pytest.raises(ConfigError, match=r"everlog.toml.*permissions.allow.*tool\(pattern\)"):
        rules_from(Config.load(None, {}))


async def test_for_good_goes_into_the_users_file_beside_what_stands_there(user: Path, workspace: Path) -> None:
    user.write_text("# mine\n[permissions]\nmode = 'ask'  # careful\n")
    async with Kernel([tools_plugin], Config.load(None, {})) as kernel:
        shop = Workshop(workspace)
        shop.scope = kernel.root.child("agent")
        shop.tools = kernel[Tools]  # type: ignore[assignment]
        for one in Workshop(workspace).tools.offered():
            shop.tools.add(one)
        shop.scope.provide(Approver, Person(Answer("allowed-always", for_good=True)))
        await shop.one("bash", command="make test")
        other = Workshop(workspace)
        other.scope, other.tools = shop.scope, shop.tools
        assert code(await other.one("bash", command="make test")) != "PERMISSION_DENIED"
    written = user.read_text()
    assert written.startswith("# mine\n[permissions]\nmode = 'ask'  # careful\n")
    assert rules_from(Config.load(None, {})).allow[0].pattern == "make test"
