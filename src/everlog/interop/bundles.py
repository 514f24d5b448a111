"""Many files that together are one log: a folder or a zip archive, with an event in each and others beside them."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

_EVENT = re.compile(r"(?:event[-_])?(\d+).*\.json", re.IGNORECASE)
_ZIP = b"PK\x03\x04"
_MOST_BYTES = 1 << 28
"""By so much one file of an archive may grow when it is unpacked; what would grow larger is taken for damaged."""


@dataclass(frozen=True)
class Member:
    """One file; `read` gives its bytes, none of a damaged one."""

    name: str
    read: Callable[[], bytes]


class Bundle:
    """Files by what they are.

    Attributes:
        events: those that hold one event each, in the order of their numbers.
        beside: other JSON files: what is said of the conversation as a whole.
        others: the names of all else.
    """

    def __init__(self, members: Iterator[Member]) -> None:
        numbered: list[tuple[int, str, Member]] = []
        self.beside: list[Member] = []
        self.others: list[str] = []
        for member in members:
            if found := _EVENT.fullmatch(member.name):
                numbered.append((int(found[1]), member.name, member))
            elif member.name.lower().endswith(".json"):
                self.beside.append(member)
            else:
                self.others.append(member.name)
        self.events = [member for _, _, member in sorted(numbered, key=lambda one: one[:2])]


def bundle_of(source: Path | bytes) -> Bundle | None:
    """Give the bundle that a folder or an archive is; None for a file of another kind. Raises OSError."""
    if isinstance(source, bytes):
        return _archived(io.BytesIO(source)) if source.startswith(_ZIP) else None
    if source.is_dir():
        return Bundle(_in_folder(source))
    with source.open("rb") as file:
        return _archived(source) if file.read(len(_ZIP)) == _ZIP else None


def _in_folder(folder: Path) -> Iterator[Member]:
    inner = folder / "events"
    folders = [inner, folder] if inner.is_dir() else [folder]
    for place in folders:
        for path in sorted(place.iterdir()):
            if path.is_file():
                yield Member(path.name, path.read_bytes)


def _archived(source: Path | io.BytesIO) -> Bundle | None:
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return None
    files = (info for info in archive.infolist() if not info.is_dir())
    return Bundle(Member(PurePosixPath(info.filename).name, partial(_unpacked, archive, info)) for info in files)


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.file_size > _MOST_BYTES:
        return b""
    try:
        return archive.read(info)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):  # damaged, or encrypted
        return b""
