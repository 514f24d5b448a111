"""Making an output fit for the log: JSON only, no lone surrogates, no longer than a bound, and what was cut is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from everlog.session.jsonvalue import JSON, NotJSON, encode, scrub, scrub_json
from everlog.session.messages import Block, Text
from everlog.session.payloads import ToolError
from everlog.tools.redaction import without_values
from everlog.tools.seam import Blobs, ToolOutput, failure

MAX_CHARACTERS = 50_000
"""How much text of one result the model is shown."""

MAX_META_BYTES = 1_000_000
"""How much JSON for presentation is kept of one result."""


def fit(output: ToolOutput, blobs: Blobs | None, secrets: Mapping[str, str], limit: int = MAX_CHARACTERS) -> ToolOutput:
    """Give an output that the log accepts, without the values of secrets.

    Text past `limit` characters is cut out of its middle; the whole goes to a blob where there are any, and the
    text says how much was cut and how to read it. What JSON cannot hold makes a TOOL_RESULT_INVALID of it.
    """
    try:
        content = tuple(_checked(block) for block in output.content)
        meta = _bounded_meta(output.meta)
    except (NotJSON, TypeError, AttributeError, RecursionError, msgspec.MsgspecError) as error:
        return failure(f"The tool ran, but what it returned is not JSON: {scrub(str(error))}", "TOOL_RESULT_INVALID")
    output = without_values(replace(output, content=content, meta=meta), secrets)
    content = output.content
    if sum(len(block.text) for block in content if isinstance(block, Text)) > limit:
        content = tuple(_shortened(content, blobs, limit))
    return replace(output, content=content, error=_bounded_error(output.error))


def _checked(block: Block) -> Block:
    if isinstance(block, Text):
        text = scrub(block.text)
        return block if text is block.text else Text(text=text)
    encode(block.value())
    return block


def _bounded_meta(meta: JSON) -> JSON:
    safe = scrub_json(meta)
    size = len(encode(safe))
    return safe if size <= MAX_META_BYTES else {"left_out": f"{size} bytes"}  # type: ignore[return-value]


def _bounded_error(error: ToolError | None) -> ToolError | None:
    if error is None or error.reason is None:
        return error
    return ToolError(name=error.name, code=error.code, reason=cut(scrub(error.reason), 2_000))


def _shortened(content: Iterable[Block], blobs: Blobs | None, limit: int) -> Iterable[Block]:
    """Cut the middle of each long text; the texts share the limit."""
    texts = sum(isinstance(block, Text) for block in content)
    for block in content:
        if isinstance(block, Text) and len(block.text) > limit // texts:
            yield Text(text=cut(block.text, limit // texts, spilled(block.text.encode(), blobs)))
        else:
            yield block


def spilled(whole: bytes, blobs: Blobs | None) -> str:
    """Keep a whole output as a blob, and give the words that say how to read it; none where there are no blobs."""
    return "" if blobs is None else f"; read `blob:{blobs.put(whole)}` for the whole"


def cut(text: str, limit: int, whole: str = "") -> str:
    """Give at most about `limit` characters of a text: its head and its tail, with what was cut said between them."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 5
    tail = limit - head
    note = f"\n[... {len(text) - limit:,} of {len(text):,} characters cut{whole} ...]\n"
    return scrub(text[:head] + note + text[len(text) - tail :])
