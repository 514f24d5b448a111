"""Writing a rule into the user's configuration file, whose comments and order stay."""

from __future__ import annotations

from pathlib import Path

from everlog.kernel import Config, ConfigError
from everlog.kernel.config import user_config_file
from everlog.tools.files import replace_file
from everlog.tools.permissions.settings import TABLE


def own_file(config: Config) -> Path:
    """Give the file that holds what the user says: the last that was read, else where one would stand."""
    paths = config.own.paths
    return paths[-1] if paths else user_config_file()


def keep(rule: str, file: Path) -> None:
    """Add a rule to `allow` in the `[permissions]` table, once.

    Raises:
        ConfigError: the file cannot be read or written, or is not TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(file.read_text(encoding="utf-8") if file.exists() else "")
        table = document.setdefault(TABLE, tomlkit.table())
        allow = table.setdefault("allow", tomlkit.array())
        if rule not in allow:
            allow.append(rule)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(file, tomlkit.dumps(document).encode())
    except (OSError, TOMLKitError, AttributeError, TypeError) as error:
        raise ConfigError(file, None, f"the rule {rule} could not be added: {error}") from error
