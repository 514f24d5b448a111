"""The neutral chunks of a streamed answer, one function for each kind.

An adapter gives `Delta`s: of each block its text, reasoning or call pieces under one index, and at the end a
`usage` and a `finish`. Block marks (`block-start`, `block-end`) are optional, and close a chunk event early.
"""

from __future__ import annotations

from typing import Any, Final

from everlog.session.header import now_ms
from everlog.session.payloads import Usage
from everlog.session.records import Delta

STOP: Final = "stop"
"""The model came to its end."""
TOOL_CALLS: Final = "tool-calls"
"""The model waits for results."""
MAX_TOKENS: Final = "max-tokens"
"""The output ceiling cut the answer."""
CONTENT_FILTER: Final = "content-filter"
"""The provider cut or refused the answer."""
OTHER: Final = "other"
"""Another reason; the record says which in `providerReason`."""
REASONS: Final = (STOP, TOOL_CALLS, MAX_TOKENS, CONTENT_FILTER, OTHER)
"""All that an answer may end with."""


def text(index: int, piece: str) -> Delta:
    """Make a piece of the text block `index`."""
    return Delta("text", now_ms(), index, piece)


def reasoning(index: int, piece: str) -> Delta:
    """Make a piece of the reasoning block `index`."""
    return Delta("reasoning", now_ms(), index, piece)


def call(index: int, piece: str, id: str | None = None, name: str | None = None) -> Delta:
    """Make a piece of the arguments of the call block `index`; id and name may come with any piece of it."""
    return Delta("tool-call", now_ms(), index, piece, id, name)


def block_end(index: int) -> Delta:
    """Mark the end of a block."""
    return Delta("block-end", now_ms(), index, record={"index": index})


def usage(tokens: Usage) -> Delta:
    """Tell the tokens of the request so far; a later one replaces it."""
    return Delta("usage", now_ms(), record={"usage": tokens.value()})


def finish(reason: str, provider_reason: str | None = None, replay_state: object = None) -> Delta:
    """Tell why the answer ended, with the provider's own word and its opaque state for the next request."""
    record: dict[str, Any] = {"reason": reason}
    if provider_reason is not None:
        record["providerReason"] = provider_reason
    if replay_state is not None:
        record["replayState"] = replay_state
    return Delta("finish", now_ms(), record=record)
