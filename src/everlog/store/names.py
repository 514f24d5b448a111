"""Path names for session ids: safe on every file system, without collisions."""

from __future__ import annotations

import re
from hashlib import blake2b

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_MADE = re.compile(r"~[a-z0-9_-]{0,40}-[0-9a-f]{32}")
_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")


def path_name(id: str) -> str:
    """Give the name of a session's folder or lock: its id, where every file system takes that for itself alone.

    Any other id, one with capitals too, gives `~`, what is plain of it, and its hash.
    """
    if _PLAIN.fullmatch(id) and not _RESERVED.fullmatch(id):
        return id
    plain = re.sub(r"[^a-z0-9_-]+", "-", id.lower())[:40]
    digest = blake2b(id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"~{plain}-{digest}"


def was_made(name: str) -> bool:
    """Tell whether a name looks like one that was made for an id that is none itself."""
    return _MADE.fullmatch(name) is not None
