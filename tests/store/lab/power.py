"""What is left after a loss of power: the journal of a disk, played up to any point and then cut off.

A file keeps what it held when it was last synced, and of what was written since, what the disk happened to get
to: nothing, all, or some of the first writes with the last one cut short. A name in a folder is kept when the
folder was synced after it was made, and the names of all folders above it are kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

CHOICES = ("least", "most", "some")


class Op(NamedTuple):
    """One entry of a journal."""

    name: str
    path: str
    other: str
    offset: int
    data: bytes


def read_journal(path: Path) -> list[Op]:
    """Read the journal that the disk of the lab wrote."""
    data = path.read_bytes()
    ops: list[Op] = []
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, where, other, offset, size = data[at:end].decode().split("|")
        at = end + 1
        content = data[at : at + int(size)] if name == "write" else b""
        at += len(content)
        ops.append(Op(name, where, other, int(offset), content))
    return ops


@dataclass
class File:
    """One file: what is safe of it, and what was done since."""

    safe: bytes = b""
    since: list[Op] = field(default_factory=list)


@dataclass
class Disk:
    """Names and files below a folder as a program sees them, and the names that are safe. None stands for a folder."""

    root: str
    names: dict[str, File | None] = field(default_factory=dict)
    safe_names: dict[str, File | None] = field(default_factory=dict)

    def play(self, op: Op) -> None:
        """Do what an entry says."""
        match op.name:
            case "create":
                self.names.setdefault(op.path, File())
            case "folder":
                self.names[op.path] = None
            case "write" | "truncate":
                file = self.names.get(op.path)
                if file is not None:
                    file.since.append(op)
            case "sync" if (file := self.names.get(op.path)) is not None:
                file.safe = applied(file.safe, file.since)
                file.since = []
            case "sync":
                self._sync_names(op.path)
            case "bad-sync" if (file := self.names.get(op.path)) is not None:
                file.since = []  # a sync that comes later does not bring it to the disk
            case "remove":
                self.names.pop(op.path, None)
            case "rename":
                self._rename(op.path, op.other)
            case _:
                pass

    def _sync_names(self, folder: str) -> None:
        for path in [path for path in self.safe_names if str(Path(path).parent) == folder]:
            if path not in self.names:
                self._forget(path)
        self.safe_names |= {path: file for path, file in self.names.items() if str(Path(path).parent) == folder}

    def _forget(self, path: str) -> None:
        for name in [name for name in self.safe_names if name == path or name.startswith(path + "/")]:
            del self.safe_names[name]

    def _rename(self, old: str, new: str) -> None:
        for path in [path for path in self.names if path == old or path.startswith(old + "/")]:
            self.names[new + path[len(old) :]] = self.names.pop(path)
        # What is in a folder moves with it: what was safe there is safe under the new name, once that is.
        for path in [path for path in self.safe_names if path.startswith(old + "/")]:
            self.safe_names[new + path[len(old) :]] = self.safe_names[path]

    def left(self, choice: str, chance: random.Random) -> Iterator[tuple[str, bytes | None]]:
        """Give each name that is left, and the bytes of its file; None for a folder."""
        names = self.safe_names if choice == "least" else self.names
        for path, file in sorted(names.items()):
            if all(str(above) in names for above in Path(path).parents if str(above).startswith(self.root)):
                yield path, None if file is None else survived(file, choice, chance)


def applied(content: bytes, ops: list[Op]) -> bytes:
    """Give what a file holds after some writes and cuts."""
    held = bytearray(content)
    for op in ops:
        if op.name == "truncate":
            del held[op.offset :]
            held.extend(bytes(op.offset - len(held)))
        else:
            held.extend(bytes(max(0, op.offset - len(held))))
            held[op.offset : op.offset + len(op.data)] = op.data
    return bytes(held)


def survived(file: File, choice: str, chance: random.Random) -> bytes:
    """Give what is left of a file."""
    match choice:
        case "least":
            return file.safe
        case "most":
            return applied(file.safe, file.since)
        case _:
            kept = file.since[: chance.randint(0, len(file.since))]
            if kept and kept[-1].name == "write":
                last = kept[-1]
                kept[-1] = last._replace(data=last.data[: chance.randint(0, len(last.data))])
            return applied(file.safe, kept)


def lay_out(left: Iterator[tuple[str, bytes | None]], source: Path, target: Path) -> None:
    """Put what is left into a folder of its own."""
    for path, content in left:
        place = target / Path(path).relative_to(source)
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
        elif not place.name.endswith("-shm"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def disk_of(folder: Path) -> Disk:
    """Give a disk that holds what is in a folder now, all of it safe."""
    disk = Disk(str(folder))
    for path in folder.rglob("*"):
        disk.names[str(path)] = None if path.is_dir() else File(path.read_bytes())
    disk.names[str(folder)] = None
    disk.safe_names = dict(disk.names)
    return disk
