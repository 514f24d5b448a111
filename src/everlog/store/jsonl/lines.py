"""The lines of a log: the header's, and one for each event, which is the event's JSON with its seal at the end.

A header line is `{"everlog":"session","version":1,"header":{…},"sum":"<CRC-32>"}`; spaces may follow it. An
event line is the event's own JSON object with two more members at its end,
`,"sum":"<CRC-32>","chain":"<BLAKE2b>"}`, in hexadecimal; so the stored bytes are had back by cutting a fixed
number of bytes off. Lines end with the byte 0x0A and at nothing else.
"""

from __future__ import annotations

import re
from binascii import unhexlify
from zlib import crc32

import msgspec
from msgspec import Raw

from everlog.session.errors import FormatUnsupported
from everlog.store.chain import Batch, Record
from everlog.store.errors import BatchRefused

VERSION = 1
_SEAL = len(b',"sum":"01234567","chain":"') + 40 + len(b'"}')
_SUM, _CHAIN = b',"sum":"', b'","chain":"'
_DIGITS = re.compile(rb"[0-9a-f]{48}")
_SEQ = re.compile(rb'\{"seq":(\d{1,15}),')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _HeaderLine(msgspec.Struct):
    everlog: str
    version: int
    header: Raw
    sum: str


_header_line = msgspec.json.Decoder(_HeaderLine)


def header_line(header: bytes, length: int = 0) -> bytes:
    """Give the line of a header, with spaces before the newline up to a length."""
    line = b'{"everlog":"session","version":%d,"header":%b,"sum":"%08x"}' % (VERSION, header, crc32(header))
    return line.ljust(length - 1) + b"\n"


def header_of(line: bytes) -> bytes:
    """Give the header's JSON bytes. A byte order mark, which some editors put before it, is passed over.

    Raises:
        ValueError: the line is damaged.
        FormatUnsupported: it is of a later version.
    """
    try:
        found = _header_line.decode(line.removeprefix(_BYTE_ORDER_MARK))
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    if found.version > VERSION:
        raise FormatUnsupported("the file of a session", str(found.version), f"versions up to {VERSION}")
    header = bytes(found.header)
    if found.everlog != "session" or found.sum != f"{crc32(header):08x}":
        raise ValueError("its checksum does not match its bytes")
    return header


def event_line(data: bytes, seal: bytes) -> bytes:
    """Give the line of an event."""
    return b'%b,"sum":"%b","chain":"%b"}\n' % (data[:-1], seal[:4].hex().encode(), seal[4:].hex().encode())


def event_lines(batch: Batch) -> bytes:
    """Give the lines of a batch. Raises BatchRefused when an event is none, as it could not be read back."""
    lines = b"".join(map(event_line, batch.data, batch.seals))
    if lines.count(b"\n") != len(batch.data):
        raise BatchRefused(batch.session, batch.first_seq, batch.first_seq, "an event of it holds a line break")
    return lines


def record_of(line: bytes) -> Record:
    """Give the record of a line without its newline; one with an empty seal when it does not end in a seal.

    A carriage return at its end, which editors and transfers add, is passed over.
    """
    end = line[-_SEAL:]
    if len(end) == _SEAL and end[:8] == _SUM and end[16:27] == _CHAIN and end[-2:] == b'"}':
        digits = end[8:16] + end[27:67]
        if _DIGITS.fullmatch(digits):
            return Record(line[:-_SEAL] + b"}", unhexlify(digits))
    return record_of(line[:-1]) if line[-1:] == b"\r" else Record(line, b"")


def seq_of(line: bytes) -> int | None:
    """Give the seq that an event's line begins with, or None."""
    found = _SEQ.match(line)
    return int(found[1]) if found else None
