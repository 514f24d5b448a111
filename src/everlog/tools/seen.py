"""Which content of each file the model has seen: a fold over the results of the tools that read and write files.

Those tools put `{"file": {"path": ..., "sha256": ...}}` into their meta. So a file that somebody else changed
since is noticed, also after a restart and in a fork, and nothing is kept beside the log.
"""

from __future__ import annotations

from typing import Any

from everlog.session.event import Event
from everlog.session.jsonvalue import JSON
from everlog.session.log import Log
from everlog.session.payloads import ToolSettled


class SeenFiles:
    """The projection: absolute path -> SHA-256 of the content that the model last saw there."""

    name = "tools/seen-files"
    version = 1

    def init(self) -> dict[str, str]:
        """Give the state of the empty log."""
        return {}

    def apply(self, state: dict[str, str], event: Event) -> None:
        """Take one event in."""
        found = file_of(event)
        if found is not None:
            state[found[0]] = found[1]

    def view(self, state: dict[str, str], log: Log) -> dict[str, str]:
        """Give the paths and digests."""
        return dict(state)


def file_of(event: Event) -> tuple[str, str] | None:
    """Give the absolute path and the digest of the file that a result is about; None for any other event."""
    if event.type not in ("tool/result", "tool/settled") or b'"sha256"' not in event.data_json:
        return None
    data = event.data
    file = _field(data.meta if isinstance(data, ToolSettled) else None, "file")
    path, seen = _field(file, "path"), _field(file, "sha256")
    return (path, seen) if isinstance(path, str) and isinstance(seen, str) else None


def _field(value: JSON, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


PROJECTION = SeenFiles()


def seen(log: Log | None, path: str) -> str | None:
    """Give the digest of the content that the model last saw at an absolute path, or None."""
    return None if log is None else log.project(PROJECTION).get(path)


def file_meta(path: str, sha256: str, **more: JSON) -> JSON:
    """Give the meta by which a tool says which content of a file the model has now seen."""
    return {"file": {"path": path, "sha256": sha256}, **more}
