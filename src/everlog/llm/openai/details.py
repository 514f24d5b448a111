"""Structured reasoning of chat completions (`reasoning_details`, as OpenRouter has it), pieced together.

Signatures and encrypted parts of many providers travel in it, and they count only when the whole sequence comes
back as it was given.
"""

from __future__ import annotations

from typing import Any

_GROWING = ("text", "summary", "data")


class Details:
    """The parts of one answer's reasoning, in order; a part comes in pieces of the same index and type."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []

    def add(self, piece: dict[str, Any]) -> None:
        """Take in a piece: its texts are joined to those of its part, of everything else the last counts."""
        last = self.parts[-1] if self.parts else None
        if last is None or _is_another(piece, last):
            self.parts.append(dict(piece))
            return
        for key, value in piece.items():
            if key in _GROWING and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value

    @property
    def sealed(self) -> list[dict[str, Any]]:
        """Give the parts when a provider could prove them its own, by a signature or encryption; else none."""
        proven = any(part.get("signature") or part.get("data") for part in self.parts)
        return self.parts if proven else []


def _is_another(piece: dict[str, Any], part: dict[str, Any]) -> bool:
    if any(part.get(key) != piece.get(key) for key in ("type", "index")):
        return True
    ids = {part.get("id"), piece.get("id")} - {None}
    return len(ids) > 1
