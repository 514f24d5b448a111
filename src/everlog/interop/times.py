"""Times as other programs write them."""

from __future__ import annotations

from datetime import UTC, datetime


def milliseconds(said: object) -> int | None:
    """Give a time in milliseconds since the epoch; None when nothing that can be read was said.

    Text is ISO 8601, without a zone in UTC; a number is in seconds when it is too small for milliseconds.
    """
    if isinstance(said, str):
        try:
            time = datetime.fromisoformat(said)
        except ValueError:
            return None
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said < 2**53:
        return int(said if said > 10_000_000_000 else said * 1000)
    return None
