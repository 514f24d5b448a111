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

from everlog.errors import EverlogError

_EVENT = re.compile(r"(?:event[-_])?(\d+).*\.json", re.IGNORECASE)
_ZIP = b"PK\x03\x04"
MOST_BYTES = 1 << 28
"""So much the events of an archive may be together when they are unpacked; a few bytes can stand for gigabytes."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How a file of an archive may be packed: of the others nothing bounds how much is unpacked at once."""


class ArchiveTooLarge(EverlogError):
    """An archive unpacks to more than is taken in."""

    def __init__(self, size: int) -> None:
        hint = "unpack it and give the folder, if you trust where it comes from"
        super().__init__(f"the archive unpacks to {size:,} bytes, more than {MOST_BYTES:,}: {hint}")


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
    """Give the bundle that a folder or an archive is; None for another file. Raises OSError, ArchiveTooLarge."""
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
    files = [info for info in archive.infolist() if not info.is_dir()]
    size = sum(info.file_size for info in files if info.filename.lower().endswith(".json"))
    if size > MOST_BYTES:
        raise ArchiveTooLarge(size)
    return Bundle(Member(PurePosixPath(info.filename).name, partial(_unpacked, archive, info)) for info in files)


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Give the bytes of a file, never more than it is said to have; none of a damaged one."""
    if info.compress_type not in _METHODS:
        return b""
    try:
        with archive.open(info) as file:
            return file.read(info.file_size + 1)  # with a length, as without one all of it would be unpacked first
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):  # damaged, or encrypted
        return b""
