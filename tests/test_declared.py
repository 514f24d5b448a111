"""What plugins declare is known wherever sessions are opened, and without it a log can be looked at all the same."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from tests.agent.stage import MODEL, stage
from tests.cli.conftest import Cli
from tests.interop.dsh.samples import closed, file, user

from everlog import CORE, RuleViolation, open_store
from everlog.declared import vocabulary_for_looking, with_vocabulary
from everlog.harness import Harness
from everlog.interop.importing import imported
from everlog.kernel import Config, Context, Discovery, Plugin, PluginInvalid, Status, discover, plugin, survey
from everlog.session import EventType, Vocabulary
from everlog.session.views import View
from everlog.store.seam import UnknownEvents

MODULE = '''
from everlog.kernel import plugin
from everlog.session import EventType

class InOrder:
    name, version, sees = "acme/in-order", 1, ("acme/page",)

    def init(self):
        return {"last": 0}

    def check(self, state, event):
        number = event.data["number"]
        return None if number == state["last"] + 1 else f"page {state['last'] + 1}"

    def apply(self, state, event):
        state["last"] += 1

class Pages:
    name, version = "acme/pages", 1

    def init(self):
        return []

    def apply(self, state, event):
        if event.type == "acme/page":
            state.append(event.seq)

    def view(self, state, log):
        return [log.events[seq].data["number"] for seq in state]

@plugin(declares=(EventType("acme/page"), InOrder(), Pages()))
async def acme_diary(ctx):
    """Keeps a diary."""
    yield
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Write a package with the plugin above as an installer leaves it, in a folder of its own."""
    folder = tmp_path / "site"
    info = folder / "acme_diary-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "acme_diary.py").write_text(MODULE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-diary\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[everlog.plugins]\nacme-diary = acme_diary:acme_diary\n", encoding="utf-8")
    return folder


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def install(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Give what installs the package, for the rest of the test."""

    def install() -> None:
        monkeypatch.syspath_prepend(package)
        importlib.invalidate_caches()

    yield install
    sys.modules.pop("acme_diary", None)


def test_an_installed_package_brings_its_types_rules_and_projections(install: Callable[[], None]) -> None:
    assert "acme/page" not in vocabulary_for_looking(Config())
    install()
    words = vocabulary_for_looking(Config())
    assert set(words) == {*CORE, "acme/page"}
    assert (list(words.rules), list(words.projections)) == (["acme/in-order"], ["acme/pages"])


def test_a_disabled_one_brings_nothing_and_is_not_imported(install: Callable[[], None]) -> None:
    install()
    assert set(vocabulary_for_looking(Config.parse("[plugins]\ndisable = ['acme-diary']\n"))) == set(CORE)
    assert "acme_diary" not in sys.modules


async def test_a_log_is_a_recording_without_the_plugin_and_a_session_again_with_it(
    tmp_path: Path, install: Callable[[], None]
) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    install()
    async with Harness(Config(), url) as harness, await harness.store.create() as session:
        session.append_json("acme/page", {"number": 1})
        with pytest.raises(RuleViolation, match="acme/in-order: page 2"):
            session.append_json("acme/page", {"number": 5})

    async with open_store(url) as without:
        async with await without.open(session.id, "read") as recording:
            assert recording.unknown_types == ("acme/page",)
            assert recording.events[0].data == {"number": 1}
        with pytest.raises(UnknownEvents, match="acme/page"):
            await without.open(session.id, "write")

    async with Harness(Config(), url) as harness, await harness.store.open(session.id, "write") as again:
        again.append_json("acme/page", {"number": 2})
        assert again.project("acme/pages") == [1, 2]
    async with Harness(Config(), url) as harness, await harness.store.open(session.id, "read") as read:
        assert read.violations == ()


async def test_commands_know_what_is_installed(cli: Cli, package: Path) -> None:
    installed = {"PYTHONPATH": str(package)}
    words = CORE.with_types(EventType("acme/page"))
    async with open_store(f"sqlite:///{cli.database}", vocabulary=words) as store, await store.create() as session:
        session.append_json("acme/page", {"number": 1})

    told = cli("show", session.id, "--view", "acme/pages", env=installed)
    assert (told.code, told.out.splitlines()[1:]) == (0, ["[", "  1", "]"]), told
    assert cli("show", session.id, "--view", "acme/pages", "--json", env=installed).json == [1]

    without = cli("show", session.id)
    assert "a plugin that is not installed: acme/page" in without.out
    refused = cli("show", session.id, "--view", "acme/pages")
    assert refused.code == 2
    assert "no plugin declares it" in refused.err


class Diary:
    """A projection that says nothing."""

    name = "acme/pages"
    version = 1

    def init(self) -> list[int]:
        return []

    def apply(self, state: list[int], event: object) -> None:
        """Take nothing in."""

    def view(self, state: list[int], log: object) -> None:
        """Give nothing."""


def declaring(name: str, *declares: object) -> Plugin:
    @plugin(name=name, declares=declares)
    async def it(ctx: Context) -> AsyncIterator[None]:
        """Declares something."""
        yield

    return it


PAGE = EventType("acme/page")


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (PAGE, "the event type 'acme/page' exists already"),
        (EventType("turn/start"), "exists already"),
        (Diary(), "the projection 'acme/pages' exists already"),
        (Diary, "neither an EventType, nor an object that is a Rule or a Projection"),
        ("acme/page", "neither an EventType"),
    ],
)
async def test_a_plugin_whose_declarations_are_wrong_is_failed_and_hides_no_other(
    declared: object, reason: str
) -> None:
    first, wrong, last = declaring("first", PAGE, Diary()), declaring("wrong", declared), declaring("last")
    found, words = with_vocabulary(Discovery((first, wrong, last), ()))
    assert found.plugins == (first, last)
    assert set(words) == {*CORE, "acme/page"}
    [state] = [state for state in await survey(Config(), found) if state.name == "wrong"]
    assert state.status is Status.FAILED
    assert reason in state.reason


async def test_what_a_program_hands_in_is_known_too_and_the_vocabulary_is_a_service() -> None:
    async with stage([], plugins=[declaring("diary", PAGE)]) as harness:
        assert "acme/page" in harness.kernel[Vocabulary]
        agent = await harness.agents.create(MODEL)
        agent.session.append_json("acme/page", {"number": 1})
        await agent.dispose()


async def test_plugins_that_come_with_everlog_declare_nothing_so_that_looking_imports_none_of_them() -> None:
    assert [found.name for found in discover(Config()).plugins if found.declares] == []


async def test_a_plugin_that_comes_later_may_declare_nothing_new(install: Callable[[], None]) -> None:
    install()
    late = declaring("late", EventType("late/page"))
    async with Harness(Config(), "memory:") as harness:
        before = [state.name for state in harness.kernel.states()]
        with pytest.raises(PluginInvalid, match="declares late/page, which must be known before anything starts"):
            await harness.kernel.load(late)
        assert [state.name for state in harness.kernel.states()] == before
        [diary] = [one for one in discover(Config()).plugins if one.name == "acme-diary"]
        await harness.kernel.unload("acme-diary")
        await harness.kernel.load(diary)
        assert "acme-diary" in [state.name for state in harness.kernel.states()]
    async with Harness(Config(), "memory:", [late]) as harness, await harness.store.create() as session:
        session.append_json("late/page", {})


def test_the_doctor_says_whose_declarations_are_refused(cli: Cli, package: Path) -> None:
    (package / "acme_diary.py").write_text(MODULE.replace('EventType("acme/page"), ', "7, "), encoding="utf-8")
    [found] = [
        row for row in cli("doctor", "--json", env={"PYTHONPATH": str(package)}).json if "acme" in row["subject"]
    ]
    assert (found["subject"], found["state"]) == ("plugin acme-diary", "broken")
    assert "what it declares is refused" in found["detail"]


class Numbered(View):
    """The data of a page."""

    number: int


def test_an_imported_log_is_read_with_what_is_declared() -> None:
    words = CORE.with_types(EventType("acme/page", Numbered))
    row = {"type": "acme/page", "data": {"number": 1}, "ignorable": True}
    log = imported(file([*closed(user()), row]), vocabulary=words)
    session = log.session()
    assert [event.data.number for event in session.events if isinstance(event.data, Numbered)] == [1]
    assert session.append(Numbered(number=2)).type == "acme/page"
