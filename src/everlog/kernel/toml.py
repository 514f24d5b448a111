"""A TOML file whose keys can be found again by line, so that a complaint can point at its place."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from everlog.kernel.errors import ConfigError

Table = dict[str, object]
"""What a parser of TOML gives for a table."""

MAX_BROUGHT_BYTES = 1_000_000
"""How large the file of a project may be."""


@dataclass(frozen=True)
class TomlFile:
    """One file: its text and what it says."""

    path: Path | None
    text: str
    values: Table

    @classmethod
    def read(cls, path: Path) -> "TomlFile":
        """Read and parse a file. Raises ConfigError, with the line when the fault has one."""
        try:
            return cls._decoded(path, path.read_bytes())
        except OSError as error:
            raise ConfigError(path, None, f"cannot be read: {error.strerror or error}") from error

    @classmethod
    def read_brought(cls, path: Path) -> "TomlFile":
        """Read and parse a file of which nobody knows who put it there: only a regular one, of `MAX_BROUGHT_BYTES`.

        A pipe in its place would be waited for, and a device would never end. Raises ConfigError.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
            with open(descriptor, "rb") as file:
                regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
                data = file.read(MAX_BROUGHT_BYTES + 1) if regular else b""
        except OSError as error:
            raise ConfigError(path, None, f"cannot be read: {error.strerror or error}") from error
        if not regular:
            raise ConfigError(path, None, "is not a file: remove it, or put a file there")
        if len(data) > MAX_BROUGHT_BYTES:
            raise ConfigError(path, None, f"has more than {MAX_BROUGHT_BYTES:,} bytes, too many for a configuration")
        return cls._decoded(path, data)

    @classmethod
    def _decoded(cls, path: Path, data: bytes) -> "TomlFile":
        try:
            text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise ConfigError(path, line, "is not UTF-8: save the file in that encoding") from error
        return cls.parse(text, path)

    @classmethod
    def parse(cls, text: str, path: Path | None = None) -> "TomlFile":
        """Parse a text. Raises ConfigError with the line."""
        import tomllib  # without a file there is nothing to parse

        try:
            return cls(path, text, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            problem, line = _line_in(str(error))
            line = line or max(1, len(text.splitlines()))  # "at end of document"
            raise ConfigError(path, line, f"is not TOML: {problem}") from error
        except RecursionError as error:
            raise ConfigError(path, None, "is nested too deeply") from error
        except ValueError as error:  # a number that Python does not read, because it has too many digits
            raise ConfigError(path, None, f"holds a value that cannot be read: {error}") from error

    def depth_and_line(self, keys: Sequence[str]) -> tuple[int, int | None]:
        """How many leading keys are set in this file, and the line (from 1) that sets the last of those."""
        best: tuple[int, int | None] = (0, None)
        for number, statement in self._statements():
            shared = _shared_prefix(statement, keys)
            if shared > best[0]:
                best = (shared, number)
        return best

    def _statements(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Each line that opens a table or sets a key, with the full path of that table or key."""
        table: tuple[str, ...] = ()
        for number, line in enumerate(self.text.splitlines(), start=1):
            if line.lstrip().startswith("["):
                if path := _path_of(line):
                    table = path
                    yield number, table
            elif path := _path_of(f"{line.partition('=')[0]}=0"):
                yield number, table + path


def _line_in(message: str) -> tuple[str, int | None]:
    """A parser's message without its place, and the line of that place."""
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if place is None:
        return message, None
    return message[: place.start()], int(place[1]) if place[1] else None


def _path_of(statement: str) -> tuple[str, ...]:
    """The keys that a single TOML statement sets, outermost first; empty when it is none."""
    import tomllib

    try:
        value: object = tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return ()
    path: tuple[str, ...] = ()
    while isinstance(value, dict | list) and value:
        if isinstance(value, dict):
            key = next(iter(value))
            path += (key,)
            value = value[key]
        else:
            value = value[0]
    return path


def _shared_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    shared = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared
