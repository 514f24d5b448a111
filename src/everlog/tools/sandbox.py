"""Confining commands with bubblewrap: they write only in the workspace, and have no network unless it is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from everlog.kernel import Config
from everlog.tools.seam import ToolFailure

TABLE = "sandbox"

HIDDEN = (".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", ".config/gcloud", ".config/everlog")
"""What of the home folder a confined command does not see."""

_FOR_GIT = (".git/hooks", ".git/config")
"""What of the workspace a confined command cannot write: it could make Git run commands that are not confined."""


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[sandbox]` table.

    Attributes:
        enabled: whether commands are confined.
        network: whether confined commands have the network.
        write: further folders in which they may write.
    """

    enabled: bool = False
    network: bool = False
    write: tuple[str, ...] = ()


class Sandbox:
    """The service: wraps commands so that they run confined, when the settings have it so."""

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings

    def switched_on(self) -> Sandbox:
        """Give a sandbox with the same settings that is on in any case."""
        return Sandbox(msgspec.structs.replace(self.settings, enabled=True))

    def wrapped(self, command: Sequence[str], cwd: Path) -> list[str]:
        """Give the command as it is to be started; unchanged when the sandbox is off.

        Raises:
            ToolFailure: the sandbox is on and bubblewrap does not work here. Nothing runs unconfined instead.
        """
        if not self.settings.enabled:
            return list(command)
        problem = unusable()
        if problem is not None:
            text = f"Commands are to run in a sandbox, and {problem}. No command can run."
            raise ToolFailure(text, code="SANDBOX_UNAVAILABLE")
        return [*self._bubblewrap(cwd.resolve()), "--", *command]

    def _bubblewrap(self, cwd: Path) -> list[str]:
        made = ["bwrap", "--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        made += ["--unshare-cgroup-try", *([] if self.settings.network else ["--unshare-net"])]
        made += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
        if self.settings.network and os.path.exists("/run/systemd/resolve"):
            made += ["--ro-bind", "/run/systemd/resolve", "/run/systemd/resolve"]
        for hidden in (Path.home() / name for name in HIDDEN):
            if hidden.is_dir():
                made += ["--tmpfs", str(hidden)]
            elif hidden.exists():
                made += ["--ro-bind", "/dev/null", str(hidden)]
        for folder in (cwd, *(Path(name).expanduser().resolve() for name in self.settings.write)):
            made += ["--bind", str(folder), str(folder)]
        for name in _FOR_GIT:
            made += ["--ro-bind-try", str(cwd / name), str(cwd / name)]
        return [*made, "--chdir", str(cwd)]


def sandbox_settings(config: Config) -> SandboxSettings:
    """Read the table: what the user says; a project's file can only turn the sandbox on.

    Raises ConfigError.
    """
    own, brought = (part.section(SandboxSettings, TABLE) for part in (config.own, config.brought))
    return msgspec.structs.replace(own, enabled=own.enabled or brought.enabled)


_PROBLEM: list[str | None] = []


def unusable() -> str | None:
    """Give why bubblewrap cannot be used on this machine, or None when it can; found out once."""
    if not _PROBLEM:
        _PROBLEM.append(_try_out())
    return _PROBLEM[0]


def _try_out() -> str | None:
    if shutil.which("bwrap") is None:
        return "bubblewrap (bwrap) is not installed"
    trial = ["bwrap", "--unshare-user-try", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
    try:
        done = subprocess.run(trial, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not run: {error}"
    return None if done.returncode == 0 else f"bubblewrap does not work here: {done.stderr.strip()}"
