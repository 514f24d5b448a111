"""The configuration: TOML files, laid over one another, read as typed sections."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from everlog.kernel.errors import ConfigError
from everlog.kernel.toml import Table, TomlFile

T = TypeVar("T")

FILE_NAME = "everlog.toml"
"""What the file is called, in a project's folder and in the user's configuration folder."""


def user_config_file() -> Path:
    """Where the user's own file stands, whether there is one or not."""
    from platformdirs import user_config_path  # takes longer than all else here, and a named file makes it needless

    return user_config_path("everlog", appauthor=False) / FILE_NAME


class Config:
    """Settings from zero or more files. A later file wins key by key; an array is replaced whole."""

    def __init__(self, *files: TomlFile, project: TomlFile | None = None) -> None:
        self._project = project
        self._own = files
        self._files = files = (*files, project) if project else files
        self._values: Table = {}
        for file in files:
            self._values = _laid_over(self._values, file.values)

    @classmethod
    def load(cls, project: Path | None = None, environ: Mapping[str, str] = os.environ) -> "Config":
        """Read `everlog.toml` from the user's configuration folder, then the project's, which wins.

        When the environment names a file in EVERLOG_CONFIG, that file alone is read, and must exist. Raises
        ConfigError.
        """
        if named := environ.get("EVERLOG_CONFIG"):
            return cls(TomlFile.read(Path(named).expanduser()))
        own = user_config_file()
        files = [TomlFile.read(own)] if own.exists() else []
        brought = project / FILE_NAME if project else None
        return cls(*files, project=TomlFile.read_brought(brought) if brought and brought.exists() else None)

    @classmethod
    def parse(cls, text: str) -> "Config":
        """A configuration from TOML text, for programs and tests. Raises ConfigError."""
        return cls(TomlFile.parse(text))

    @property
    def own(self) -> "Config":
        """What the user said, without the project's file.

        A project's file comes with the project: who wrote it is not known. What loosens protection is read here.
        """
        return Config(*self._own)

    @property
    def brought(self) -> "Config":
        """What the project's file says, by itself."""
        return Config(*([self._project] if self._project else []))

    @property
    def paths(self) -> list[Path]:
        """The files that were read; a later one wins."""
        return [file.path for file in self._files if file.path is not None]

    def section(self, shape: type[T], *keys: str) -> T:
        """The table at `keys` as a msgspec Struct or any type msgspec knows; an absent one gives defaults.

        Raises ConfigError that names the file, the line and the key.
        """
        value: object = self._values
        for key in keys:
            value = value.get(key, {}) if isinstance(value, dict) else value
        try:
            return msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            raise self._complaint(keys, str(error)) from error

    def demand_tables(self, known: Collection[str]) -> None:
        """Raise ConfigError that names the file and the line of a table that is none of these: nobody reads it."""
        unknown = next((name for name in self._values if name not in known), None)
        if unknown is not None:
            from difflib import get_close_matches  # which nobody needs whose file is right

            file, _, line = self._find([unknown])
            near = get_close_matches(unknown, known, 1)
            hint = f"did you mean [{near[0]}]?" if near else f"there are [{'], ['.join(sorted(known))}]"
            raise ConfigError(file.path if file else None, line, f"nothing reads [{unknown}]; {hint}")

    def origin(self, *keys: str) -> Path | None:
        """The file that sets a key, or None when none does."""
        file, depth, _ = self._find(keys)
        return file.path if file and depth == len(keys) else None

    def _complaint(self, keys: Sequence[str], message: str) -> ConfigError:
        problem, _, inner = message.partition(" - at `$")
        inner = inner.removesuffix("`")
        unknown = re.findall(r"unknown field `([^`]+)`", problem)
        known = inner.partition("[")[0]  # msgspec does not tell which item of a table or an array it means
        file, _, line = self._find([*keys, *known.split(".")[1:], *unknown])
        where = ".".join(keys) + inner
        return ConfigError(file.path if file else None, line, f"{where}: {problem[:1].lower()}{problem[1:]}")

    def _find(self, keys: Sequence[str]) -> tuple[TomlFile | None, int, int | None]:
        """The file that says most of `keys`, the later one in doubt, with how many it says, and the line."""
        best: tuple[TomlFile | None, int, int | None] = (None, 0, None)
        for file in self._files:
            depth, line = file.depth_and_line(keys)
            if depth and depth >= best[1]:
                best = (file, depth, line)
        return best


def _laid_over(below: Table, above: Table) -> Table:
    merged = dict(below)
    for key, value in above.items():
        held = merged.get(key)
        both = isinstance(held, dict) and isinstance(value, dict)
        merged[key] = _laid_over(cast(Table, held), cast(Table, value)) if both else value
    return merged
