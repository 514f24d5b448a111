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
        self._parts: list[dict[str, Any]] = []
        self._texts: list[dict[str, list[str]]] = []  # of each part; joined once, as a text may come letter by letter

    def add(self, piece: dict[str, Any]) -> None:
        """Take in a piece: its texts are joined to those of its part, of everything else the last counts."""
        if not self._parts or _is_another(piece, self._parts[-1]):
            self._parts.append(dict(piece))
            self._texts.append({key: [piece[key]] for key in _GROWING if isinstance(piece.get(key), str)})
            return
        last, texts = self._parts[-1], self._texts[-1]
        for key, value in piece.items():
            if key in _GROWING and isinstance(value, str):
                last.setdefault(key, "")  # its place among the keys
                texts.setdefault(key, []).append(value)
            elif value is not None:
                last[key] = value
                texts.pop(key, None)

    @property
    def sealed(self) -> list[dict[str, Any]]:
        """Give the parts when a provider could prove them its own, by a signature or encryption; else none."""
        parts = [
            part | {key: "".join(texts) for key, texts in grown.items()}
            for part, grown in zip(self._parts, self._texts, strict=True)
        ]
        proven = any(part.get("signature") or part.get("data") for part in parts)
        return parts if proven else []


def _is_another(piece: dict[str, Any], part: dict[str, Any]) -> bool:
    if any(part.get(key) != piece.get(key) for key in ("type", "index")):
        return True
    ids = {part.get("id"), piece.get("id")} - {None}
    return len(ids) > 1
