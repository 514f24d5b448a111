"""The session core: appending, messages, replaces and forks, in memory."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.figure import Figure, median_seconds, seconds
from everlog import Session
from everlog.session.messages import Text

Event = tuple[str, dict[str, Any], str | None, bool]


def figures() -> Iterator[Figure]:
    """Give the figures of the core."""
    yield _append_rate()
    session = session_of(10_000)
    yield from _messages(session)
    yield _replace_half(session)
    yield from _forks()


def turn_of(turn: int) -> list[Event]:
    """Give the eight events of a turn: a 200 character prompt, a 1 KB answer with one call, a 4 KB result."""
    place = {"turn": turn, "step": 1}
    call = {"name": "read", "arguments": '{"file_path":"src/main.py"}'}
    answer = [text(1_000), {"type": "tool-call", "id": "call_1", **call}]
    block = {"type": "tool-result", "toolCallId": "call_1", "content": [text(4_000)], "isError": False}
    model = {"kind": "model", "provider": "p", "model": "m"}
    return [
        ("turn/start", {"turn": turn}, None, False),
        ("user/message", message("user", [text(200)], {"kind": "user"}), "append", False),
        ("step/start", place, None, False),
        ("assistant/message", {**place, "message": message("assistant", answer, model)}, "append", False),
        ("tool/call", {**place, "callId": "call_1", **call}, None, False),
        (
            "tool/result",
            {**place, "message": message("user", [block], {"kind": "tool", "callId": "call_1"})},
            "append",
            True,
        ),
        ("step/end", place, None, False),
        ("turn/end", {"turn": turn, "reason": {"kind": "completed"}}, None, False),
    ]


def text(length: int) -> dict[str, Any]:
    """Give a text block of ordinary prose with some quotes and newlines."""
    prose = 'the quick brown fox said "jump" over the lazy dog,\n'
    return {"type": "text", "text": (prose * (length // len(prose) + 1))[:length]}


def message(role: str, content: list[Any], source: dict[str, Any]) -> dict[str, Any]:
    """Give a message as JSON."""
    return {"id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "role": role, "content": content, "source": source}


def append_turn(session: Session, events: list[Event]) -> None:
    """Append a turn and read each event's data once."""
    for name, data, surface, cites in events:
        sources = [session.next_seq - 1] if cites else None
        _ = session.append_json(name, data, surface, sources).data


def session_of(messages: int) -> Session:
    """Make a session with that many messages."""
    session = Session.create()
    for turn in range(messages // 3 + 1):
        append_turn(session, turn_of(turn + 1))
    return session


def _append_rate() -> Figure:
    """Turn by turn, so that both sides meet the same noise."""
    session = Session.create()
    ours, theirs = [], []
    for turn in range(1, 1_501):
        events = turn_of(turn)
        start = time.perf_counter()
        append_turn(session, events)
        middle = time.perf_counter()
        for _, data, _, _ in events:
            json.loads(json.dumps(data))
        ours.append(middle - start)
        theirs.append(time.perf_counter() - middle)
    ratio = statistics.median(theirs) / statistics.median(ours)
    rate = 8 / statistics.median(ours)
    return Figure("append with all checks", ratio, "x", ">= 1.1", f"json.loads(json.dumps()); {rate:,.0f} events/s")


def _messages(session: Session) -> Iterator[Figure]:
    taken = []
    session.messages()
    for _ in range(101):
        session.append_json("user/message", message("user", [text(200)], {"kind": "user"}), "append")
        start = time.perf_counter()
        _ = session.messages()[-1]
        taken.append(time.perf_counter() - start)
    yield Figure(
        "messages()[-1] after one more append", statistics.median(taken) * 1e6, "µs", "<= 20", "10,000 messages"
    )
    view = session.messages()
    _iterate(view)
    per = median_seconds(lambda: _iterate(view), 9) * 10_000 / len(view)
    yield Figure("second iteration over 10,000 messages", per * 1e3, "ms", "<= 5")


def _iterate(view: Any) -> None:
    for item in view:
        _ = item.role
        block = item.content[0]
        if isinstance(block, Text):
            _ = block.text


def _replace_half(session: Session) -> Figure:
    nodes = session.surface.nodes[:10_000]
    results = [seq for seq in nodes[:5_000] if session.events[seq].type == "tool/result"]
    shadowed = list(nodes[: nodes.index(results[-1]) + 1])
    op = {"op": "replace", "startSeq": shadowed[0], "endSeq": shadowed[-1]}
    summary = message("user", [text(500)], {"kind": "user"})

    def replace() -> None:
        session.append_json("user/message", summary, op, shadowed)
        _ = session.messages()[-1]

    return Figure("replace half of 10,000 nodes, then messages()", seconds(replace) * 1e3, "ms", "<= 10")


def _forks() -> Iterator[Figure]:
    session = session_of(37_500)
    nodes = session.surface.nodes
    op = {"op": "replace", "startSeq": nodes[0], "endSeq": nodes[2]}
    session.append_json("user/message", message("user", [text(50)], {"kind": "user"}), op, list(nodes[:3]))
    middle = session.next_seq // 2 // 8 * 8 - 1
    session.fork()
    end = median_seconds(lambda: session.fork(), 5)
    yield Figure("fork of 100,000 events at the end", end * 1e3, "ms", "<= 5")
    within = median_seconds(lambda: session.fork(at=middle), 5)
    yield Figure("fork of 100,000 events in the middle, before a replace", within * 1e3, "ms", "<= 5")
