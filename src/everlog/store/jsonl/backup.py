"""The backup of a store before a migration: its sessions, those in the trash too, and what says of which version it is.

Blobs are not in it, as they are named by what they hold, and no migration changes one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from everlog.store.disk import Disk
from everlog.store.jsonl.folders import Folders


def back_up(places: Folders, disk: Disk, version: int) -> Path:
    """Copy the sessions beside themselves, whole or not at all; return when the copy survives a loss of power.

    One that is there is kept: it was made before a migration that did not come to its end began to change sessions.
    """
    backup = places.root / f"backup-v{version}"
    if not backup.exists():
        half = places.root / f".{backup.name}.half"
        shutil.rmtree(half, ignore_errors=True)
        disk.make_folder(half)
        for folder in (places.sessions, places.trash):
            _copy_folder(disk, folder, half / folder.name)
        _copy_file(disk, places.description, half / places.description.name)
        disk.sync_folder(half)
        disk.rename(half, backup)
    disk.sync_folder(places.root)
    return backup


def _copy_folder(disk: Disk, source: Path, target: Path) -> None:
    """Copy what is in a folder, but for what a process that ended left over there."""
    disk.make_folder(target)
    for path in sorted(source.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            _copy_folder(disk, path, target / path.name)
        elif path.is_file() and not path.name.startswith("."):
            _copy_file(disk, path, target / path.name)
    disk.sync_folder(target)


def _copy_file(disk: Disk, source: Path, target: Path) -> None:
    """Copy a file with the time of its last change, which lists show of a log."""
    with source.open("rb") as opened:
        about = os.fstat(opened.fileno())
        made = disk.create(target)
        try:
            disk.copy(opened.fileno(), 0, about.st_size, made, 0)
            disk.set_time(target, about.st_mtime_ns // 1_000_000)
            disk.sync(made)
        finally:
            disk.close(made)
