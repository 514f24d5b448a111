"""What an event on the surface must satisfy, and what one off it must not carry.

Sources are unique, earlier, and not an empty list except on an assistant/message. Both ends of a replace
are nodes, start not after end; the sources include every node that is shadowed. The system prompt is one
node at position 0, and only a system/message replaces it. A tool/result may replace exactly one
tool/result, of the same call, and may change only the content of its block. A replace never parts a call
from its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from everlog.session.event import Event, Replace
from everlog.session.jsonvalue import JSONObject, decode, equal
from everlog.session.payloads import ToolResultEvent
from everlog.session.rules.calls import Calls, call_id_of
from everlog.session.surface import Surface
from everlog.session.views import View

ReadEvent = Callable[[int], Event]


def check_sources(sources: tuple[int, ...], event: Event) -> str | None:
    """Say what is wrong with the sources of a surface event."""
    if not sources:
        return None if event.type == "assistant/message" else "no sources rather than an empty list"
    if len(sources) > 1 and len(set(sources)) != len(sources):
        return "each source once"
    for seq in sources:
        if not 0 <= seq < event.seq:
            return f"sources that are earlier events; {seq} is none"
    return None


def check_append(surface: Surface) -> str | None:
    """Say why a system prompt may not join the surface."""
    if surface.system is not None:
        return f"a replace of the system prompt at seq {surface.system}"
    return None


def check_replace(event: Event, op: Replace, surface: Surface) -> str | None:
    """Say why an event may not replace these nodes."""
    span = surface.span(op)
    if span is None:
        return f"two nodes of the surface; {op.start_seq} or {op.end_seq} is none"
    start, end = span
    if start > end:
        return f"a start that is not after its end; {op.start_seq} stands after {op.end_seq}"
    shadowed = surface.slice(start, end + 1)
    sources = set(event.source_event_seqs or ())
    missing = next((seq for seq in shadowed if seq not in sources), None)
    if missing is not None:
        return f"sources that include every shadowed node; {missing} is missing"
    return _check_system(event, shadowed, surface)


def _check_system(event: Event, shadowed: tuple[int, ...], surface: Surface) -> str | None:
    holds = surface.system is not None and surface.system in shadowed
    if event.type == "system/message":
        return None if holds and len(shadowed) == 1 else "a replace of the system prompt alone"
    return "only a system/message may replace the system prompt" if holds else None


def check_rewrite(event: Event, data: ToolResultEvent, shadowed: tuple[int, ...], read: ReadEvent) -> str | None:
    """Say why a tool/result may not take the place of these nodes."""
    old = read(shadowed[0])
    if len(shadowed) != 1 or old.type != "tool/result":
        return "a replace of exactly one tool/result"
    before = old.data
    if not isinstance(before, ToolResultEvent) or call_id_of(before.message) != call_id_of(data.message):
        return "a result of the same call"
    try:
        same = equal(_without_content(event.data_json), _without_content(old.data_json))
    except ValueError:  # foreign data that no value can hold
        same = False
    return None if same else "a change of the block's content only"


def _without_content(data: bytes) -> JSONObject:
    value = cast("JSONObject", decode(data))
    message = cast("JSONObject", value["message"])
    for block in cast("list[JSONObject]", message["content"]):
        block.pop("content", None)
    return value


def check_place(event: Event, data: View, shadowed: tuple[int, ...], read: ReadEvent) -> str | None:
    """Say which turn and step a replacement should name: those of what it replaces."""
    places = {_place(read(seq)) for seq in shadowed} - {None}
    if not places or _place_of(data) in places:
        return None
    return "the turn and step of what it replaces"


def _place(event: Event) -> tuple[int, int] | None:
    return _place_of(event.data)


def _place_of(data: object) -> tuple[int, int] | None:
    turn, step = getattr(data, "turn", None), getattr(data, "step", None)
    return (turn, step) if isinstance(turn, int) and isinstance(step, int) else None


def check_pairs(event: Event, op: Replace, surface: Surface, calls: Calls, read: ReadEvent) -> str | None:
    """Say which call a replace would part from its result.

    Results stand right after the message that asked for them, so only the two edges of the range matter,
    and the message of the open step while one of its calls is unanswered.
    """
    start, end = cast("tuple[int, int]", surface.span(op))
    if event.type == "tool/result" and start == end:
        return None
    if read(surface.slice(start, start + 1)[0]).type == "tool/result":
        return "a range that begins before the call of its first result"
    after = surface.slice(end + 1, end + 2)
    if after and read(after[0]).type == "tool/result":
        return "a range that ends after the last result of its calls"
    if calls.pending and calls.asked_by is not None and calls.asked_by in surface.slice(start, end + 1):
        return f"an answer to call {calls.pending[0]} before its message is shadowed"
    return None
