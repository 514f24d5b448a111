"""Reading one session of the folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from everlog.session.errors import SessionCorrupt
from everlog.store.backend import End, Torn
from everlog.store.chain import Record
from everlog.store.errors import SessionNotFound, SessionUnreadable, StoreError
from everlog.store.jsonl import folders
from everlog.store.jsonl.lines import header_of, record_of
from everlog.store.jsonl.logfile import LogFile
from everlog.store.jsonl.places import kept_places
from everlog.store.jsonl.plain import PlainLog

_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Without waiting for who might write into a pipe that stands in the place of a log."""


def open_log(folder: Path, id: str) -> LogFile:
    """Open the log in a session's folder. One that was taken out of it, or is no file, is read as one with nothing.

    Raises:
        SessionNotFound: there is no such folder.
        SessionUnreadable: the system does not let it be opened.
        StoreError: it is compressed, and the package for that is not installed.
    """
    for suffix in (".jsonl", ".jsonl.zst"):
        path = folder / f"{folders.LOG}{suffix}"
        try:
            descriptor = os.open(path, _READING)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise SessionUnreadable(id, error) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return MissingLog(f"what stands in the place of its log, {path.name}, is no file")
        log = PlainLog(descriptor, lambda: kept_places(folder)) if suffix == ".jsonl" else framed()(descriptor)
        return log.of(id, path)
    if folder.is_dir():
        return MissingLog("its log is missing from its folder")
    raise SessionNotFound(id)


class MissingLog(PlainLog):
    """What stands for a log that was lost, so that its session shows as damaged and hides no other."""

    def __init__(self, why: str) -> None:
        super().__init__(os.open(os.devnull, os.O_RDONLY))
        self._why = why

    def header_line(self) -> bytes:
        """Raise ValueError: there is none."""
        raise ValueError(self._why)


def framed() -> type[LogFile]:
    """Give the class of compressed logs. Raises StoreError when the package for them is not installed."""
    try:
        from everlog.store.jsonl.framed import FramedLog
    except ModuleNotFoundError as error:
        if error.name != "zstandard":
            raise
        raise StoreError("compressed logs need the package zstandard: pip install 'everlog[zstd]'") from None
    return FramedLog


class JsonlReader:
    """Reads one session."""

    def __init__(self, folder: Path, id: str) -> None:
        self._folder = folder
        self._id = id
        self._log = open_log(folder, id)

    @property
    def log(self) -> LogFile:
        """Give the file underneath."""
        return self._log

    @property
    def header(self) -> bytes:
        """Give the header's JSON bytes."""
        try:
            return header_of(self._log.header_line())
        except ValueError as error:
            raise SessionCorrupt(self._id, None, str(error)) from None

    @property
    def torn(self) -> Torn | None:
        """Give what stands at the end and is no whole record."""
        return self._log.tail().torn

    def end(self) -> End:
        """Give where the log ends."""
        return self._log.tail().end

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Give the records from `start` up to `stop`."""
        return self._log.read(start, stop)

    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs."""
        return self._log.pick(seqs)

    def everything(self) -> Iterator[Record]:
        """Give every record of every line."""
        for block in self._log.blocks():
            yield from (record_of(line) for line in block.split(b"\n") if line)

    def strays(self) -> Iterator[tuple[int, str]]:
        """Give lines or frames that stand where they do not belong."""
        return self._log.strays()

    def checkpoints(self) -> Iterator[tuple[int, bytes]]:
        """Give the checkpoints, the newest first."""
        for seq in reversed(folders.checkpoint_seqs(self._folder)):
            try:
                yield seq, folders.checkpoint(self._folder, seq).read_bytes()
            except OSError:
                continue

    def close(self) -> None:
        """Close the file."""
        self._log.close()
