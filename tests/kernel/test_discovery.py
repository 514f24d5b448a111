"""Plugins are found by entry points and by the configuration; one that is broken hides no other."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from everlog.kernel import Config, ConfigError, PluginState, Status, discover, discovery, survey

MODULE = '''
from everlog.kernel import plugin

class Water: ...
class Tea: ...

@plugin(provides=(Water,))
async def well(ctx):
    """Gives water."""
    ctx.provide(Water, Water())
    yield

@plugin(requires=(Tea,))
async def guest(ctx):
    """Drinks tea."""
    yield

@plugin(enabled=False, requires=(Water,), provides=(Tea,))
async def kettle(ctx):
    """Makes tea."""
    ctx.provide(Tea, Tea())
    yield

@plugin(enabled=False)
async def hidden(ctx):
    """Announced by no entry point."""
    yield

not_a_plugin = 42
'''

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package with the plugins above, and these lines as its entry points, as a wheel would be."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pantry", raising=False)
    monkeypatch.setattr(discovery, "GROUP", "pantry.plugins")  # what ships is not started by these tests

    def install(points: str) -> None:
        (tmp_path / "pantry.py").write_text(MODULE, encoding="utf-8")
        info = tmp_path / "pantry-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pantry\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[pantry.plugins]\n{points}", encoding="utf-8")

    return install


def by_name(states: Iterable[PluginState]) -> dict[str, PluginState]:
    return {state.name: state for state in states}


ALL = "well = pantry:well\nguest = pantry:guest\nkettle = pantry:kettle\n"


async def test_entry_points_are_found_and_states_say_what_waits(install: Install) -> None:
    install(ALL)
    states = by_name(await survey(Config()))
    assert {name: state.status for name, state in states.items()} == {
        "guest": Status.PENDING,
        "well": Status.ACTIVE,
        "kettle": Status.DISABLED,
    }
    assert states["well"].summary == "Gives water."
    assert states["guest"].reason == (
        'waits for Tea (kettle provides it and is disabled: off by default: add it with [plugins] enable = ["kettle"])'
    )


async def test_enable_starts_what_is_off_by_default(install: Install) -> None:
    install(ALL)
    states = by_name(await survey(Config.parse("[plugins]\nenable = ['kettle']\n")))
    assert {state.status for state in states.values()} == {Status.ACTIVE}


async def test_enable_leads_to_a_plugin_by_its_path(install: Install) -> None:
    install("well = pantry:well\n")
    states = by_name(await survey(Config.parse("[plugins]\nenable = ['pantry:hidden']\n")))
    assert states["hidden"].status is Status.ACTIVE


async def test_a_project_cannot_name_code_to_run(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("[everlog.plugins]\n")
    monkeypatch.setattr("platformdirs.user_config_path", lambda *a, **k: tmp_path / "none")
    (tmp_path / "everlog.toml").write_text("[plugins]\nenable = ['pantry:hidden']\n")
    state = by_name(await survey(Config.load(tmp_path, {})))["pantry:hidden"]
    assert state.status is Status.FAILED
    assert "in your own configuration only" in state.reason


async def test_a_project_takes_no_plugin_away(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(ALL)
    monkeypatch.setattr("platformdirs.user_config_path", lambda *a, **k: tmp_path / "user")
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "everlog.toml").write_text("[plugins]\nenable = ['kettle', 'pantry:hidden']\n")
    (tmp_path / "everlog.toml").write_text("[plugins]\nenable = []\ndisable = ['well', 'hidden']\n")
    states = by_name(await survey(Config.load(tmp_path, {})))
    assert {name: state.status for name, state in states.items()} == dict.fromkeys(
        ["well", "guest", "kettle", "hidden"], Status.ACTIVE
    )


@pytest.mark.parametrize("enable", ["", "enable = ['well']\n"])
async def test_disable_wins_and_does_not_import(install: Install, enable: str) -> None:
    install("well = no_such_module:well\n")
    states = by_name(await survey(Config.parse(f"[plugins]\n{enable}disable = ['well', 'ghost']\n")))
    assert states["well"].status is Status.DISABLED
    assert states["well"].reason == "named in [plugins] disable"
    assert states["ghost"].status is Status.DISABLED


@pytest.mark.parametrize(
    ("points", "name", "reason"),
    [
        ("broken = no_such_module:thing\n", "broken", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("odd = pantry:nothing\n", "odd", "AttributeError: module 'pantry' has no attribute 'nothing'"),
        (
            "number = pantry:not_a_plugin\n",
            "number",
            "plugin number: pantry:not_a_plugin is not a Plugin: make it one with @plugin",
        ),
        ("spring = pantry:well\n", "spring", "plugin spring: calls itself well: the entry point must have that name"),
    ],
)
async def test_one_that_cannot_be_loaded_says_why_and_hides_no_other(
    install: Install, points: str, name: str, reason: str
) -> None:
    install(f"{points}well = pantry:well\n")
    states = by_name(await survey(Config()))
    assert (states[name].status, states[name].reason) == (Status.FAILED, reason)
    assert states["well"].status is Status.ACTIVE


@pytest.mark.parametrize(
    ("enabled", "reason"),
    [
        ("ghost", "is not installed; `enable` knows "),
        ("pantry:nothing", "has no attribute 'nothing'"),
        ("pantry:well", "plugin well: its name is taken by pantry:well"),
    ],
)
async def test_a_wrong_name_in_enable_says_why(install: Install, enabled: str, reason: str) -> None:
    install("well = pantry:well\n")
    found = discover(Config.parse(f"[plugins]\nenable = ['{enabled}']\n"))
    state = by_name(found.absent)[enabled]
    assert state.status is Status.FAILED
    assert reason in state.reason


def test_a_wrong_table_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"configuration:2: plugins: object contains unknown field `disabled`"):
        discover(Config.parse("[plugins]\ndisabled = ['x']\n"))


def test_everything_that_ships_can_be_imported() -> None:
    assert [state for state in discover(Config()).absent if state.status is Status.FAILED] == []
