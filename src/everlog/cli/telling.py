"""How a face tells calls, results and endings in a few words; all of it harmless for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from everlog.cli.output import counted
from everlog.cli.plain import harmless, one_line
from everlog.session.messages import Block, File, Image, Reasoning, Text, ToolCall, ToolResult
from everlog.session.payloads import Failure, Reason, Usage

PREVIEW_LINES = 4
PREVIEW_WIDTH = 160

_LIMITS = {
    "steps": "the step limit was met",
    "tokens": "the token budget was spent",
    "time": "the time was up",
    "cost": "the cost budget was spent",
    "repeated-call": "the same call was repeated too often",
}


def told_arguments(arguments: str, width: int = PREVIEW_WIDTH) -> str:
    """Give a call's raw arguments in short: the values of an object (the first without its key), else as they are."""
    try:
        value = msgspec.json.decode(arguments)
    except ValueError:
        return one_line(arguments, width)
    if not isinstance(value, dict):
        return one_line(arguments, width)
    parts = [_worded(item) if at == 0 else f"{key}={_worded(item)}" for at, (key, item) in enumerate(value.items())]
    return one_line("  ".join(parts), width)


def told_text(blocks: Iterable[Block]) -> str:
    """Give the text of blocks, with images, files and foreign blocks as a mark in brackets."""
    return "\n".join(_block_text(block) for block in blocks)


def preview(text: str, lines: int = PREVIEW_LINES, width: int = PREVIEW_WIDTH) -> list[str]:
    """Give the first lines of a text, each cut to the width; a last line says how many were left out."""
    found = harmless(text).expandtabs(8).strip("\n").split("\n")
    shown = [line if len(line) <= width else line[: width - 1] + "…" for line in found[:lines]]
    rest = len(found) - lines
    return [*shown, f"… {counted(rest, 'more line')}"] if rest > 0 else shown


def told_reason(reason: Reason) -> str:
    """Give why a turn ended."""
    match reason.kind:
        case "error":
            return f"failed: {told_failure(reason.error)}"
        case "limit":
            limit = f" ({reason.limit})" if reason.limit is not None else ""
            return f"stopped: {_LIMITS.get(reason.which or '', f'a limit was met: {reason.which}')}{limit}"
        case "aborted":
            return f"cancelled{_by_whom(reason.reason)}"
        case "blocked":
            return "refused before it began"
        case "max-tokens":
            return "stopped: the answer met the model's output ceiling"
        case "interrupted":
            return "interrupted: the process ended in the middle"
        case "forked":
            return "closed: this fork was taken in the middle"
        case kind:
            return one_line(kind)


def told_failure(failure: Failure | None) -> str:
    """Give a failure's message with its code."""
    if failure is None:
        return "no reason was recorded"
    status = f" {failure.status}" if failure.status is not None else ""
    return one_line(f"{failure.message or 'no message'} ({failure.code}{status})")


def told_usage(usage: Usage) -> str:
    """Give tokens in and out, and what of it the cache served; nothing when none were reported."""
    tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if not tokens and not usage.output_tokens:
        return ""
    cached = f" ({usage.cache_read_tokens:,} from cache)" if usage.cache_read_tokens else ""
    return f"{tokens:,} tokens in{cached}, {usage.output_tokens:,} out"


def _worded(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")


def _block_text(block: Block) -> str:
    match block:
        case Text() | Reasoning():
            return block.text
        case ToolCall():
            return f"[call {block.name} {told_arguments(block.arguments)}]"
        case ToolResult():
            return told_text(block.content)
        case Image():
            return f"[image {block.media_type} {block.blob[:12]}]"
        case File():
            return f"[file {block.name} {block.media_type} {block.blob[:12]}]"
        case _:
            return f"[{one_line(block.to_json().decode('utf-8', 'replace'), PREVIEW_WIDTH)}]"


def _by_whom(reason: object) -> str:
    if not isinstance(reason, dict):
        return ""
    kind = reason.get("kind")
    words = {"user": " by the user", "parent": " by its parent", "disposed": ": the agent was closed"}
    text = reason.get("reason") or reason.get("text")
    return f" by a hook: {one_line(str(text or 'no reason given'))}" if kind == "hook" else words.get(str(kind), "")
