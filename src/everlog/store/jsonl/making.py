"""Making sessions: each is put together beside its place, and appears whole. And the setting aside of torn ends."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeAlias

from everlog.session.header import Header
from everlog.store.backend import End, Torn
from everlog.store.chain import Batch
from everlog.store.damage import demand_sound_end
from everlog.store.disk import Disk
from everlog.store.jsonl import folders
from everlog.store.jsonl.folders import Folders
from everlog.store.jsonl.lines import header_line
from everlog.store.jsonl.logfile import LogFile
from everlog.store.jsonl.places import PLACES, to_bytes
from everlog.store.jsonl.plain import PlainLog
from everlog.store.jsonl.reader import JsonlReader, open_log

Fill: TypeAlias = Callable[[Path], None]
"""Puts the files of a session into its folder."""

_ALIGNED = 4096
"""File systems share whole blocks of this size between files, when they stand at the same place within one."""


def session(disk: Disk, places: Folders, id: str, fill: Fill) -> None:
    """Make a session's folder, fill it, and give it its name."""
    making = places.making(id)
    shutil.rmtree(making, ignore_errors=True)
    disk.make_folder(making)
    fill(making)
    disk.rename(making, places.session(id))


def new_log(disk: Disk, folder: Path, kind: type[LogFile], header: Header) -> None:
    """Write a log that holds a header and no events."""
    descriptor = disk.create(folder / f"{folders.LOG}{kind.suffix}")
    try:
        disk.write(descriptor, kind.encode_header(header_line(header.to_json())), 0)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def forked_log(disk: Disk, folder: Path, parent: JsonlReader, source: Path, at: End, header: Header) -> None:
    """Write a log that begins with the parent's events before `at`: its bytes, not decoded."""
    log = parent.log
    first, stop = log.place_after(0), log.place_after(at.next_seq)
    line = header_line(header.to_json())
    if isinstance(log, PlainLog):
        begin = first + max(0, len(line) - first + _ALIGNED - 1) // _ALIGNED * _ALIGNED
        start = header_line(header.to_json(), begin)
    else:
        start = log.encode_header(line)
    descriptor = disk.create(folder / f"{folders.LOG}{log.suffix}")
    try:
        disk.write(descriptor, start, 0)
        offset = _copy(disk, log.descriptor, first, stop, descriptor, len(start))
        rest = _rest(log, at)
        if rest is not None:
            disk.write(descriptor, rest, offset)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)
    _share_checkpoints(disk, folder, source, at)
    _share_places(disk, folder, log, at.next_seq, len(start) - first)


def _share_places(disk: Disk, folder: Path, log: LogFile, count: int, shift: int) -> None:
    """Keep where the copied events are, when that is known of the parent's."""
    known = log.known_places()
    places = known[:count] if known is not None else None
    if places and max(places) < log.size:
        disk.write_whole(folder / PLACES, to_bytes(array("Q", [place + shift for place in places])))


def _copy(disk: Disk, source: int, start: int, stop: int, target: int, offset: int) -> int:
    """Copy a run of bytes, first up to where blocks begin, so that the rest can be shared; give where it ends."""
    edge = min(stop, -(-start // _ALIGNED) * _ALIGNED)
    disk.copy(source, start, edge, target, offset)
    disk.copy(source, edge, stop, target, offset + edge - start)
    return offset + stop - start


def _rest(log: LogFile, at: End) -> bytes | None:
    """Give the bytes of the events that share their part of the file with later ones; None when there are none."""
    first = log.count_before(log.place_after(at.next_seq))
    records = list(log.read(first, at.next_seq))
    if not records:
        return None
    before = next(log.pick([first - 1])).chain if first else bytes(len(at.head))
    return log.encode(Batch("", first, before, [r.data for r in records], [r.seal for r in records]))


def _share_checkpoints(disk: Disk, folder: Path, source: Path, at: End) -> None:
    """Copy the parent's checkpoints that hold for the fork too; without one it only opens more slowly."""
    for seq in folders.checkpoint_seqs(source):
        if seq >= at.next_seq:
            continue
        with suppress(FileNotFoundError):  # whoever writes the parent may have just removed it
            _copy_checkpoint(disk, folders.checkpoint(source, seq), folders.checkpoint(folder, seq))


def _copy_checkpoint(disk: Disk, source: Path, target: Path) -> None:
    """Copy a checkpoint; it is not synced, as one that is not whole counts as none."""
    data = source.read_bytes()
    descriptor = disk.create(target)
    try:
        disk.write(descriptor, data, 0)
    finally:
        disk.close(descriptor)


def set_aside(disk: Disk, folder: Path, id: str) -> Torn | None:
    """Move the torn end of a log, when there is one, into a side file.

    Raises SessionCorrupt when the record before it is damaged.
    """
    with closing(open_log(folder, id)) as log:
        tail = log.tail()
        if tail.torn is None:
            return None
        demand_sound_end(id, log, tail.end)
        kept = folders.torn(folder, tail.offset)
        disk.write_whole(kept, log.bytes_at(tail.offset, tail.torn.size))
        descriptor = disk.open(folder / f"{folders.LOG}{log.suffix}")
        try:
            disk.truncate(descriptor, tail.offset)
            disk.sync(descriptor)
        finally:
            disk.close(descriptor)
        return Torn(tail.torn.size, tail.torn.reason, str(kept))
