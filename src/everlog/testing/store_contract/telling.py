"""What the suite has sessions tell: turns, awkward texts, batches of events."""

from __future__ import annotations

import json
from typing import Any

from everlog.session.event import Event
from everlog.store import chain
from everlog.store.backend import End
from everlog.store.chain import Batch
from everlog.store.durable import DurableSession

AWKWARD_IDS = [
    "plain",
    "Plain",
    "PLAIN",
    "..",
    "../escape",
    "a/b",
    "a b",
    "con",
    ".hidden",
    "ünï-cödé",
    "漢字",
    "x" * 300,
    "quote'\"semicolon;--",
    "new\nline",
]

AWKWARD_TEXTS = [
    "NUL \x00 in the middle",
    "\u2028 \u2029 \x85 \x1c \r alone",
    "🙂 outside the basic plane",
    '"quoted" \\ back \\u0041 slash',
    "tab\tand\nnewline",
    "é as two: e\u0301",
]


def message(text: str, id: str = "m1") -> dict[str, Any]:
    """Give a user message as JSON."""
    return {"id": id, "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}}


def say(session: DurableSession, text: str) -> Event:
    """Append a user message."""
    return session.append_json("user/message", message(text, f"m{session.next_seq}"), "append")


def whole_turn(session: DurableSession, text: str = "hello") -> None:
    """Append a turn that enters a message and asks nothing."""
    turn = session.ledger.turns.last + 1
    session.append_json("turn/start", {"turn": turn})
    say(session, text)
    session.append_json("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def call_under_way(session: DurableSession) -> None:
    """Append a turn up to a call whose result is not known yet."""
    turn = session.ledger.turns.last + 1
    place = {"turn": turn, "step": 1}
    call = {"id": "call_1", "name": "bash", "arguments": "{}"}
    source = {"kind": "model", "provider": "p", "model": "m"}
    answer = {"id": "a1", "role": "assistant", "content": [{"type": "tool-call", **call}], "source": source}
    session.append_json("turn/start", {"turn": turn})
    session.append_json("step/start", place)
    header = {"config": {"provider": "p", "model": "m"}, "tools": [{"name": "bash", "effects": "mutating"}]}
    session.append_json("request/header", {"header": header, "reason": "initial"})
    session.append_json("assistant/message", {**place, "message": answer}, "append")
    session.append_json("tool/call", {**place, "callId": "call_1", "name": "bash", "arguments": "{}"})


def stored(session: Any) -> list[bytes]:
    """Give the bytes of every event."""
    return [event.to_json() for event in session.events]


def batch_of(session: str, end: End, *texts: str) -> Batch:
    """Make a batch of events that say something."""
    data = [
        json.dumps(
            {"seq": seq, "type": "user/message", "time": 1, "data": message(text), "surfaceOp": "append"},
            separators=(",", ":"),
            ensure_ascii=False,
        ).encode()
        for seq, text in enumerate(texts, end.next_seq)
    ]
    return Batch(session, end.next_seq, end.head, data, chain.seal(end.head, data))
