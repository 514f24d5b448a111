"""Confined commands: where they write, what they see, whom they reach."""

import socket
from pathlib import Path

import pytest
from tests.tools.workshop import Workshop, code, text

from everlog.kernel import Config
from everlog.tools import sandbox as module
from everlog.tools.sandbox import Sandbox, SandboxSettings, sandbox_settings, unusable

needs_bubblewrap = pytest.mark.skipif(unusable() is not None, reason=str(unusable()))


def confined(workspace: Path, **settings: object) -> Workshop:
    shop = Workshop(workspace)
    shop.scope.provide(Sandbox, Sandbox(SandboxSettings(enabled=True, **settings)))  # type: ignore[arg-type]
    return shop


@needs_bubblewrap
async def test_a_confined_command_writes_in_the_workspace_and_nowhere_else(workspace: Path) -> None:
    outside = workspace.parent / "outside.txt"
    outside.write_text("mine\n")
    shop = confined(workspace)
    assert code(await shop.one("bash", command="echo in > inside.txt")) is None
    assert (workspace / "inside.txt").read_text() == "in\n"
    for target in (str(outside), "/etc/everlog-was-here", str(Path.home() / "everlog-was-here")):
        await shop.one("bash", command=f"echo bad > {target}")
    assert outside.read_text() == "mine\n"
    assert not Path("/etc/everlog-was-here").exists()
    assert not (Path.home() / "everlog-was-here").exists()


@needs_bubblewrap
async def test_a_confined_command_may_write_in_further_folders_that_were_named(workspace: Path) -> None:
    further = workspace.parent / "further"
    further.mkdir()
    await confined(workspace, write=(str(further),)).one("bash", command=f"echo ok > {further}/a.txt")
    assert (further / "a.txt").read_text() == "ok\n"


@needs_bubblewrap
@pytest.mark.parametrize("network", [False, True])
async def test_a_confined_command_has_the_network_only_when_it_is_allowed(workspace: Path, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo unreachable"
        told = text(await confined(workspace, network=network).one("bash", command=command))
    assert told == ("reached" if network else "unreachable")


@needs_bubblewrap
async def test_a_confined_command_does_not_see_keys_nor_other_processes(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = workspace.parent / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("private\n")
    (home / ".netrc").write_text("private\n")
    monkeypatch.setenv("HOME", str(home))
    told = text(await confined(workspace).one("bash", command="cat ~/.ssh/* ~/.netrc; ls /proc | grep -c '^[0-9]'"))
    assert "private" not in told
    assert int(told.splitlines()[-1].split()[0]) < 10


@needs_bubblewrap
async def test_a_confined_command_cannot_plant_commands_that_git_would_run(workspace: Path) -> None:
    hooks = workspace / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (workspace / ".git" / "config").write_text("[core]\n")
    await confined(workspace).one("bash", command="echo bad > .git/hooks/pre-commit; echo bad >> .git/config")
    assert not list(hooks.iterdir())
    assert (workspace / ".git" / "config").read_text() == "[core]\n"


async def test_without_bubblewrap_nothing_runs_unconfined_instead(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "unusable", lambda: "bubblewrap (bwrap) is not installed")
    result = await confined(workspace).one("bash", command="touch made")
    assert code(result) == "SANDBOX_UNAVAILABLE"
    assert "not installed" in text(result)
    assert not (workspace / "made").exists()


def test_what_a_project_brings_can_turn_the_sandbox_on_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *a, **k: tmp_path / "none")
    (tmp_path / "everlog.toml").write_text("[sandbox]\nenabled = true\nnetwork = true\nwrite = ['/']\n")
    assert sandbox_settings(Config.load(tmp_path, {})) == SandboxSettings(enabled=True)
