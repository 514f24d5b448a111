"""Text files as bytes and back: encoding, byte order mark and line endings are found out, and kept.

Reading decodes; `Text.encode` gives, for an unchanged text, the very bytes that were read. A file whose bytes
no encoding gives back exactly is binary.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_MARKS = (  # longest first: the mark of UTF-32-LE begins with that of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_COOKIE_BYTES = 1_000
_SNIFF = 64_000


@dataclass(frozen=True)
class TextFile:
    """The content of a text file.

    Attributes:
        text: the characters, with line endings as they are.
        encoding: the codec's name.
        mark: the byte order mark, or nothing.
        guessed: whether the encoding is an inference from the bytes, and not declared by them.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    guessed: bool = False

    def encode(self, text: str) -> bytes:
        """Give another text as bytes of the same encoding and mark, or of the one that it declares instead.

        Raises UnicodeEncodeError.
        """
        encoding = self.encoding
        if not self.mark and (declared := _declared_encoding(text)) not in (None, _declared_encoding(self.text)):
            encoding = declared or encoding
        return self.mark + text.encode(encoding)

    @property
    def label(self) -> str:
        """The encoding in words, for a person or a model; nothing for plain UTF-8."""
        if self.encoding == "utf-8" and not self.mark:
            return ""
        return self.encoding + (" with a byte order mark" if self.mark else "") + (", guessed" if self.guessed else "")


def read_text(data: bytes) -> TextFile | None:
    """Give the bytes of a file as text, or None when they are binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, mark)
    if b"\0" in data[:_SNIFF]:
        return None
    declared = _declared_encoding(data[:_COOKIE_BYTES].decode("latin-1"))
    return (_decoded(data, declared) if declared else None) or _decoded(data, "utf-8") or _guessed(data)


def _decoded(data: bytes, encoding: str, mark: bytes = b"", guessed: bool = False) -> TextFile | None:
    try:
        text = data.decode(encoding)
        exact = text.encode(encoding) == data
    except (UnicodeError, LookupError, ValueError):
        return None
    return TextFile(text, encoding, mark, guessed) if exact else None


def _declared_encoding(text: str) -> str | None:
    """Give the encoding that a coding line among the first two lines of a source file names, if it is one."""
    for line in text[:_COOKIE_BYTES].split("\n", 2)[:2]:
        if found := _COOKIE.match(line):
            try:
                return codecs.lookup(found[1]).name
            except LookupError:
                return None
    return None


def _guessed(data: bytes) -> TextFile | None:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SNIFF]).best()
    names = [best.encoding] if best is not None else []
    for name in [*names, "cp1252", "latin-1"]:
        if found := _decoded(data, name, guessed=True):
            return None if _looks_binary(found.text[:_SNIFF]) else found
    return None


def _looks_binary(text: str) -> bool:
    controls = sum(character < " " and character not in "\t\n\r\f\v\x1b" for character in text)
    return controls * 50 > len(text)


IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(data: bytes) -> str | None:
    """Give the media type of an image that models can see, or None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in IMAGES if data.startswith(start)), None)
