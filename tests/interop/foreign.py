"""What the tests of all imported forms ask of a recording."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from everlog.interop.importing import Imported, imported

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
PNG_TEXT = base64.b64encode(PNG).decode()


def lines(*records: dict[str, Any]) -> bytes:
    """Give records as JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def taken(data: bytes | Path, format: str) -> Imported:
    """Import a log that must have this form, and break no rule of ours."""
    found = imported(data)
    assert found.format == format
    assert found.recording.violations == ()
    assert found.header.recording is True
    assert not found.is_session
    return found


def said(found: Imported) -> list[str]:
    """Give the model's view as `role: text`."""
    return [f"{message.role}: {_text(message)}" for message in found.recording.messages()]


def lived(found: Imported) -> list[str]:
    """Give the transcript's messages as `role: text`."""
    shown = [line.message for line in found.recording.transcript()]
    return [f"{message.role}: {_text(message)}" for message in shown if message is not None]


def calls(found: Imported) -> list[tuple[str | None, str]]:
    """Give each call by its tool and outcome."""
    return [(call.name, call.outcome) for step in found.recording.project("steps") for call in step.calls]


def tokens(found: Imported) -> dict[str, int]:
    """Give what was used in all, by storage names, zeros left out."""
    total: dict[str, int] = found.recording.project("usage").total.value()
    return {name: count for name, count in total.items() if count}


def cut_anywhere(data: bytes, step: int = 37) -> Iterable[bytes]:
    """Give the beginnings of a log, as a crash or a full disk leaves them."""
    return (data[:end] for end in range(1, len(data), step))


def _text(message: Any) -> str:
    if message.result is not None:
        return "".join(block.text for block in message.result.content if hasattr(block, "text"))
    return str(message.text)
