"""The header line of a file, and the header of a session that comes from it.

Of the file's header the session's header has what it has a name for. The whole of it is kept under `dsh`,
with the seqs of the events that the file marks `ignorable`, so that the file can be written back.
"""

from __future__ import annotations

from typing import Any, cast

from everlog.interop.dsh.errors import LogDamaged, VersionUnsupported
from everlog.interop.dsh.jsontext import encode_parsed, is_count, parse
from everlog.session.header import FORMAT, Header, read_header

KEPT = "dsh"
"""Where a session's header keeps the header of the file that it came from."""

VERSIONS = (0, 2, 3, 4)

_NAMES = {
    "cwd": "cwd",
    "parentSession": "parentSession",
    "seedLength": "inheritedEvents",
    "origin": "origin",
    "delegationDepth": "delegationDepth",
}


def read_header_line(line: bytes) -> dict[str, Any]:
    """Give the header that a file's first line holds.

    Raises:
        LogDamaged: the line is not JSON, or not a header as that program writes it.
        VersionUnsupported: the header is of a version that is not read.
    """
    try:
        found = parse(line)
    except ValueError:
        raise LogDamaged("?", None, "the first line is not JSON") from None
    if not isinstance(found, dict) or not _is_header(found):
        raise LogDamaged("?", None, "the first line is not a session header")
    name, version = cast(str, found["id"]), cast(int, found["version"])
    if version not in VERSIONS:
        raise VersionUnsupported(name, version)
    for key in ("cwd", "parentSession"):
        if not isinstance(found.get(key, ""), str):
            raise LogDamaged(name, None, f"{key} is not a string")
    if not is_count(found.get("seedLength", 0)):
        raise LogDamaged(name, None, "seedLength is not a count")
    return found


def _is_header(found: dict[str, Any]) -> bool:
    return (
        found.get("type") == "session"
        and type(found.get("version")) is int
        and isinstance(found.get("id"), str)
        and is_count(found.get("createdAt"))
        and is_count(found.get("delegationDepth"))
        and found.get("origin", "subagent") == "subagent"
        and isinstance(found.get("agentPreset", ""), str)
    )


def session_header(found: dict[str, Any], marked: list[int]) -> Header:
    """Give the header of a session for the header of a file that marks these events `ignorable`."""
    own = {ours: found[theirs] for theirs, ours in _NAMES.items() if theirs in found}
    kept = {"header": found, **({"ignorable": marked} if marked else {})}
    return read_header(
        encode_parsed({"id": found["id"], "createdAt": found["createdAt"], "format": FORMAT, **own, KEPT: kept})
    )


def kept_header(header: Header) -> dict[str, Any] | None:
    """Give the header of the file that a session came from, or None for one that came from elsewhere."""
    kept = header.get(KEPT)
    found = kept.get("header") if isinstance(kept, dict) else None
    return found if isinstance(found, dict) else None


def marked_seqs(header: Header) -> frozenset[int]:
    """Give the seqs of the events that the file of a session marks `ignorable`."""
    kept = header.get(KEPT)
    found = kept.get("ignorable") if isinstance(kept, dict) else None
    return frozenset(seq for seq in found if isinstance(seq, int)) if isinstance(found, list) else frozenset()
