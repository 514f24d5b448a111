"""What a log file can be asked, plain or compressed, and what both have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from everlog.store.backend import End, Torn
from everlog.store.chain import START, Batch, Record
from everlog.store.disk import read_at
from everlog.store.errors import SessionUnreadable

MISSING = Record(b"", b"")


@dataclass(frozen=True)
class Tail:
    """Where the sound part of a file ends.

    Attributes:
        offset: the byte after the last whole record.
        end: the seq and the chain there.
        torn: what stands behind it, or None.
    """

    offset: int
    end: End
    torn: Torn | None


class LogFile(ABC):
    """Reads one log file; the descriptor is its own. Made by `open_log`."""

    suffix: ClassVar[str]

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._open = True
        self._session, self._path = "", Path()
        self._size = -1
        self._tail = Tail(0, End(0, START), None)

    def of(self, session: str, path: Path) -> Self:
        """Say which session's log this is, and where it stands, so that errors tell."""
        self._session, self._path = session, path
        return self

    @property
    def size(self) -> int:
        """Give the size of the file in bytes."""
        return os.fstat(self._descriptor).st_size

    def bytes_at(self, offset: int, count: int) -> bytes:
        """Give up to so many bytes from an offset on. Raises SessionUnreadable."""
        try:
            return read_at(self._descriptor, count, offset)
        except OSError as error:
            cause = OSError(error.errno, error.strerror, str(self._path))
            raise SessionUnreadable(self._session, cause) from error

    @property
    def descriptor(self) -> int:
        """Give the descriptor, for copying."""
        return self._descriptor

    def tail(self) -> Tail:
        """Give where the sound part ends now."""
        size = self.size
        if size != self._size:
            self._tail = self._find_tail(size)
            self._size = size
        return self._tail

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        if self._open:
            self._open = False
            os.close(self._descriptor)

    def __del__(self) -> None:
        self.close()

    @abstractmethod
    def header_line(self) -> bytes:
        """Give the first line without its newline. Raises ValueError when there is none."""

    @abstractmethod
    def _find_tail(self, size: int) -> Tail:
        """Look for where the sound part of a file of this size ends."""

    @abstractmethod
    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Give the records from seq `start` up to `stop`; missing ones as `MISSING`."""

    @abstractmethod
    def pick(self, seqs: Sequence[int]) -> Iterator[Record]:
        """Give the records with these seqs, in the order given."""

    @abstractmethod
    def strays(self) -> Iterator[tuple[int, str]]:
        """Give what stands where it does not belong: before which seq, and what it is."""

    @abstractmethod
    def place_after(self, count: int) -> int:
        """Give the offset after the first `count` events, or after the last part that holds only such."""

    @abstractmethod
    def count_before(self, offset: int) -> int:
        """Give how many events stand before an offset that `place_after` gave."""

    @abstractmethod
    def blocks(self) -> Iterator[bytes]:
        """Give all lines of the sound part, some at a time."""

    @staticmethod
    @abstractmethod
    def encode_header(line: bytes) -> bytes:
        """Give the bytes that a file with this header line begins with."""

    @staticmethod
    @abstractmethod
    def encode(batch: Batch) -> bytes:
        """Give the bytes of a batch."""

    def known_places(self) -> array[int] | None:
        """Give the offset of each event found so far, when they are worth keeping."""
        return None
