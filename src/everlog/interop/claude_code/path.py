"""Which records of a file belong to the conversation that it ends in.

Each record names its parent. A prompt that was edited, or a rewind, begins another branch, and what it leaves stays
in the file. The conversation is the way from the last message up to its root, with three additions: a compaction's
boundary has no parent, and goes on above at the one it names apart; an answer is several records of one message, and
results of calls that were made together hang on different ones of them. Where a parent is missing, the way goes on at
the record before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from everlog.interop.documents import Record, Unreadable


@dataclass
class Link:
    """What of a record tells its place."""

    number: int
    parent: str | None
    above: str | None
    is_boundary: bool
    is_side: bool
    role: str | None
    message: str | None
    calls: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)


@dataclass
class Path:
    """The conversation of a file.

    Attributes:
        numbers: the records that belong to it, counted from 0.
        names: the ids of all records.
        is_agent: whether all of the file is a sub-agent's.
        missing: how many parents are not in the file.
        records: how many records there are.
    """

    numbers: set[int]
    names: set[str]
    is_agent: bool
    missing: int
    records: int


def find_path(records: Iterable[Record | Unreadable]) -> Path:
    """Find the conversation that a file ends in."""
    links: dict[str, Link] = {}
    count = 0
    for count, record in enumerate(records, 1):
        if not isinstance(record, Unreadable) and isinstance(name := record.get("uuid"), str):
            links.setdefault(name, _link(count - 1, record))
    spoken = [link for link in links.values() if link.role is not None]
    is_agent = bool(spoken) and all(link.is_side for link in spoken)
    main = {name: link for name, link in links.items() if is_agent or not link.is_side}
    on, missing = _ancestors(main)
    return Path({link.number for link in _with_siblings(main, on)}, set(links), is_agent, missing, count)


def _link(number: int, record: Record) -> Link:
    message = record.get("message")
    message = message if isinstance(message, dict) else {}
    kind = record.get("type")
    link = Link(
        number,
        _text(record.get("parentUuid")),
        _text(record.get("logicalParentUuid")),
        record.get("subtype") == "compact_boundary",
        record.get("isSidechain") is True,
        kind if kind in ("user", "assistant") else None,
        _text(message.get("id")),
    )
    for block in _blocks(message.get("content")):
        if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
            link.calls.add(block["id"])
        if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
            link.results.add(block["tool_use_id"])
    return link


def _ancestors(links: dict[str, Link]) -> tuple[set[int], int]:
    """Give the records from the last message up to its root, and how many parents are missing."""
    order = list(links.values())
    places = {link.number: place for place, link in enumerate(order)}
    last = next((link for link in reversed(order) if link.role is not None), None)
    on: set[int] = set()
    missing = 0
    while last is not None and last.number not in on:
        on.add(last.number)
        named = last.parent or last.above
        above = links.get(named) if named is not None else None
        if above is None and (named is not None or last.is_boundary):
            missing += named is not None
            place = places[last.number]
            above = order[place - 1] if place else None
        last = above
    return on, missing


def _with_siblings(links: dict[str, Link], on: set[int]) -> Iterator[Link]:
    """Give the records of the way, the other parts of their messages, and the results of their calls."""
    messages = {link.message for link in links.values() if link.number in on and link.message is not None}
    chosen = [link for link in links.values() if link.number in on or (link.message in messages and link.message)]
    calls = {call for link in chosen for call in link.calls}
    numbers = {link.number for link in chosen}
    yield from chosen
    yield from (link for link in links.values() if link.number not in numbers and link.results & calls)


def _blocks(content: object) -> list[dict[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
