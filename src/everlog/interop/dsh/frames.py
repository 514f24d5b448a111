"""The bytes of a file as text: as they are, or from Zstandard frames that stand one after the other.

Where a frame ends is read off its own lengths, so that a frame that was cut short, or whose content is
damaged, is told apart from those around it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from everlog.errors import EverlogError

MAGIC = b"\x28\xb5\x2f\xfd"
MOST_BYTES = 1 << 28
"""So much text a compressed log may hold. A few bytes can stand for gigabytes; a plain file is as large as it is."""
MOST_BYTES_OF_LINE = 1 << 26
"""So long one line of it may be."""
_PIECE = 1 << 20
_UNREADABLE = b"\x00\n"
"""What stands in the text for bytes that cannot be decompressed: a line that is not JSON."""


class CompressionUnavailable(EverlogError):
    """The log is compressed, and the optional package that reads it is not installed."""

    def __init__(self) -> None:
        super().__init__("the log is compressed with Zstandard; install the reader with `pip install everlog[zstd]`")


class TextTooLarge(EverlogError):
    """The log is compressed, and unpacks to more than is taken in."""

    def __init__(self, what: str, most: int) -> None:
        hint = "decompress it (`zstd -d`) and give the plain file, if you trust where it comes from"
        super().__init__(f"the compressed log holds {what} of more than {most:,} bytes: {hint}")


@dataclass(frozen=True)
class Contents:
    """The text of a file.

    Attributes:
        text: the text, as bytes.
        _ends: for each frame, how much text it and those before it hold; empty for plain text.
        _offsets: for each frame, where it ends in the file.
    """

    text: bytes
    _ends: tuple[int, ...] = ()
    _offsets: tuple[int, ...] = ()

    def file_bytes(self, length: int) -> int:
        """Give how many leading bytes of the file hold only the first `length` bytes of text: whole frames."""
        if not self._offsets:
            return length
        whole = bisect_right(self._ends, length)
        return self._offsets[whole - 1] if whole else 0


def contents(data: bytes) -> Contents:
    """Give the text of a file's bytes.

    Raises:
        CompressionUnavailable: they are compressed and `zstandard` is not installed.
        TextTooLarge: they are compressed, and unpack to more than `MOST_BYTES` or a line of `MOST_BYTES_OF_LINE`.
    """
    return _decompressed(data) if data.startswith(MAGIC) else Contents(data)


def _decompressed(data: bytes) -> Contents:
    decompress = _decompressor()
    pieces: list[bytes] = []
    ends: list[int] = []
    offsets: list[int] = []
    at = length = 0
    while at < len(data):
        stop = frame_end(data, at)
        piece = None if stop is None else decompress(data[at:stop], MOST_BYTES - length)
        if piece is None or stop is None:
            stop = data.find(MAGIC, at + 1)
            if stop < 0:
                break  # nothing follows: a torn tail
            piece = _UNREADABLE
        length += len(piece)
        pieces.append(piece)
        ends.append(length)
        offsets.append(stop)
        at = stop
    return Contents(b"".join(pieces), tuple(ends), tuple(offsets) or (0,))


def frame_end(data: bytes, start: int) -> int | None:
    """Give where the frame that starts here ends, or None when it is cut short or not a frame."""
    if data[start : start + 4] != MAGIC or start + 5 > len(data):
        return None
    descriptor = data[start + 4]
    single = bool(descriptor & 0x20)
    at = start + 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + (int(single), 2, 4, 8)[descriptor >> 6]
    last = False
    while not last:
        if at + 3 > len(data):
            return None
        block = int.from_bytes(data[at : at + 3], "little")
        last = bool(block & 1)
        repeated = (block >> 1) & 3 == 1
        at += 3 + (1 if repeated else block >> 3)
    at += 4 if descriptor & 4 else 0
    return at if at <= len(data) else None


def _decompressor() -> Callable[[bytes, int], bytes | None]:
    """Give what decompresses one frame to at most so many bytes, or gives None for one whose content is damaged."""
    try:
        import zstandard
    except ImportError:
        raise CompressionUnavailable() from None
    context = zstandard.ZstdDecompressor()

    def decompress(frame: bytes, most: int) -> bytes | None:
        pieces: list[bytes] = []
        size = line = 0
        try:
            with context.stream_reader(frame) as reader:
                while piece := reader.read(_PIECE):
                    size += len(piece)
                    head, _, _ = piece.partition(b"\n")
                    longest = line + len(head)
                    line = len(piece) - piece.rfind(b"\n") - 1 if len(head) < len(piece) else longest
                    _refuse(size, longest, most)
                    pieces.append(piece)
        except zstandard.ZstdError:
            return None
        return b"".join(pieces)

    return decompress


def _refuse(size: int, line: int, most: int) -> None:
    """Raise TextTooLarge when there is too much."""
    if line > MOST_BYTES_OF_LINE:
        raise TextTooLarge("a line", MOST_BYTES_OF_LINE)
    if size > most:
        raise TextTooLarge("text", MOST_BYTES)
