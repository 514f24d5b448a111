"""Logs of other programs of more than 100 MB, and what reading one costs."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from everlog.interop.importing import Imported, imported

FILLER = "x" * 1_000_000
"""What makes a record large."""


def write(path: Path, records: Iterable[Any], between: bytes = b"\n", start: bytes = b"", end: bytes = b"\n") -> None:
    """Write records into a file of more than 100 MB."""
    with path.open("wb") as file:
        file.write(start)
        for number, record in enumerate(records):
            file.write((between if number else b"") + json.dumps(record).encode())
        file.write(end)
    assert path.stat().st_size > 100_000_000


def measured(path: Path, read: Callable[[Path], Imported] = imported) -> Imported:
    """Read a log, and hold that no second copy of it was in memory beside the events: they are 100 MB themselves."""
    tracemalloc.start()
    try:
        found = read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 250_000_000
    return found
