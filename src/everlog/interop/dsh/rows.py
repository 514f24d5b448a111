"""A row of the file: one JSON object with that program's names."""

from __future__ import annotations

from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""An event as that program has it: `type`, `seq`, `time`, `data`, and what else its envelope holds."""


def type_of(row: Row) -> str:
    """Give the type of a row; `undefined` when it has none, or one that is no text."""
    found = row.get("type")
    return found if isinstance(found, str) else "undefined"
