"""What a folder says of itself: that it is a store, of which version, and how an older one becomes a newer one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from everlog.session.errors import FormatUnsupported
from everlog.store.disk import Disk
from everlog.store.errors import StoreError, StoreUnusable
from everlog.store.jsonl.backup import back_up
from everlog.store.jsonl.folders import Folders
from everlog.store.oslock import wait_for

Step = Callable[[Folders, Disk], None]
MIGRATIONS: Sequence[Step] = ()
"""What makes a store of version n (counted from 1) one of version n + 1. Each may be begun again after a crash."""


class _Description(msgspec.Struct):
    everlog: str
    version: int


def prepare(places: Folders, disk: Disk, steps: Sequence[Step] = MIGRATIONS) -> None:
    """Make the folder a store when it is none, and bring an older one up to date, after a backup of its sessions.

    Processes that open it at the same time wait for each other.

    Raises:
        FormatUnsupported: it is of a later version.
        StoreUnusable: the folder cannot be used.
    """
    current = len(steps) + 1
    try:
        if _version(places) == current:
            return
        disk.make_folders(places.root)
        with wait_for(places.root / "store.lock"):
            version = _version(places)
            if version > current:
                raise FormatUnsupported(f"the store {places.root}", str(version), f"versions up to {current}")
            _make_rooms(places, disk)
            if 0 < version < current:
                _migrate(places, disk, version, steps)
            elif version == 0:
                _describe(places, disk, current)
    except OSError as error:
        raise StoreUnusable(places.root, error) from error


def _make_rooms(places: Folders, disk: Disk) -> None:
    """Make what sessions stand in. It is safe before the store says that it is one: nobody looks after it later."""
    for folder in (places.sessions, places.trash, places.locks, places.blobs):
        disk.ensure_folder(folder)
    disk.sync_folder(places.root)


def _version(places: Folders) -> int:
    """Give the version of the store; 0 when there is none yet."""
    try:
        found = msgspec.json.decode(places.description.read_bytes(), type=_Description)
    except FileNotFoundError:
        return 0
    except msgspec.MsgspecError as error:
        whole = msgspec.json.encode(_Description("jsonl", len(MIGRATIONS) + 1)).decode()
        raise StoreError(
            f"{places.description} is damaged: {error}; the sessions beside it are as they were: take this file from a"
            f" backup, or write {whole} into it"
        ) from None
    return found.version


def _describe(places: Folders, disk: Disk, version: int) -> None:
    disk.write_whole(places.description, msgspec.json.encode(_Description("jsonl", version)) + b"\n")


def _migrate(places: Folders, disk: Disk, version: int, steps: Sequence[Step]) -> None:
    back_up(places, disk, version)
    for done, step in enumerate(steps[version - 1 :], version + 1):
        step(places, disk)
        _describe(places, disk, done)
