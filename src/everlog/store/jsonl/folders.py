"""Where things stand in the folder of a JSONL store.

store.json              what it is, and of which version
sessions/NAME/          one folder for each session
    events.jsonl        the log; events.jsonl.zst when it is compressed
    places              where events are in a plain log (8 bytes each, little-endian); can be deleted
    checkpoint-SEQ      what was known after an event; can be deleted
    torn-OFFSET         what was set aside from the end of the log
trash/NAME/             deleted sessions
locks/NAME.lock         who writes a session
blobs/AB/HASH           blobs by their SHA-256
backup-vN/              sessions, trash and store.json as they were before a migration from version N
index.db                the list and the words for search; can be deleted
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from everlog.session.jsonvalue import scrub
from everlog.store.errors import SessionNotFound
from everlog.store.names import path_name, was_made

LOG = "events"
TRASHED = "trashed"
_MAKING = ".making"
_CHECKPOINT, _TORN = "checkpoint-", "torn-"


class Folders:
    """The paths of one store."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sessions = root / "sessions"
        self.trash = root / "trash"
        self.locks = root / "locks"
        self.blobs = root / "blobs"
        self.index = root / "index.db"
        self.description = root / "store.json"

    def _name(self, id: str) -> str:
        """Give the name of a session's folder. Lists show it where the id cannot be read, so it names itself too."""
        name = path_name(id)
        return id if was_made(id) and not self._has(name) and self._has(id) else name

    def _has(self, name: str) -> bool:
        return (self.sessions / name).is_dir() or (self.trash / name).is_dir()

    def session(self, id: str) -> Path:
        """Give where a session stands, or would stand."""
        return self.sessions / self._name(id)

    def trashed(self, id: str) -> Path:
        """Give where a session stands in the trash, or would stand."""
        return self.trash / self._name(id)

    def making(self, id: str) -> Path:
        """Give where a session stands until it is complete."""
        return self.sessions / f"{_MAKING}-{path_name(id)}"

    def lock(self, id: str) -> Path:
        """Give the lock of a session."""
        return self.locks / f"{self._name(id)}.lock"

    def find(self, id: str) -> Path:
        """Give where a session stands, in the trash or not. Raises SessionNotFound."""
        for folder in (self.session(id), self.trashed(id)):
            if folder.is_dir():
                return folder
        raise SessionNotFound(id)

    def demand(self, id: str) -> Path:
        """Give where a session stands. Raises SessionNotFound when it does not, or is in the trash."""
        folder = self.session(id)
        if not folder.is_dir():
            raise SessionNotFound(id, trashed=self.trashed(id).is_dir())
        return folder

    def names(self, folder: Path) -> set[str]:
        """Give the names of the sessions in a folder; one that is no text is no session's."""
        return {name for name in os.listdir(folder) if name[0] != "." and (name.isascii() or scrub(name) == name)}

    def left_over(self) -> Iterator[Path]:
        """Give what a process that ended in the middle of something left; nothing needs it."""
        for folder in (self.sessions, self.trash):
            yield from (entry for entry in folder.iterdir() if entry.name.startswith("."))
        for folder in (self.sessions, self.trash, self.blobs):
            yield from folder.glob("*/.*")


def checkpoint(folder: Path, seq: int) -> Path:
    """Give the file of a checkpoint."""
    return folder / f"{_CHECKPOINT}{seq}"


def checkpoint_seqs(folder: Path) -> list[int]:
    """Give the seqs of the checkpoints, in order."""
    found = (entry.name.removeprefix(_CHECKPOINT) for entry in folder.glob(f"{_CHECKPOINT}*"))
    return sorted(int(seq) for seq in found if seq.isdecimal())


def torn(folder: Path, offset: int) -> Path:
    """Give a name for what is set aside from an offset on; one that is taken already gets a number."""
    path = folder / f"{_TORN}{offset}"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{_TORN}{offset}-{number}"
    return path
