"""The tables of the catalog."""

from __future__ import annotations

SEQ_BITS = 32
"""An event's key is its session's key times two to this, plus its seq."""

WORDS = "CREATE VIRTUAL TABLE words USING fts5 (said, tokenize = 'unicode61');"
"""What was said, by the key of the event that says it."""
