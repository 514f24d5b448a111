"""Appends of the right shape that a session may or may not take: each value is near to one that it would."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from everlog.session import CORE, Session
from everlog.session.messages import user_message

Row = dict[str, Any]
BODY = {"adapter": "a", "adapterVersion": "1", "sha256": "", "bytes": 0}
HEADER = {"config": {"provider": "p", "model": "m"}}


def message(role: str, source: dict[str, Any], *blocks: dict[str, Any], id: str = "m") -> Row:
    return {"id": id, "role": role, "content": list(blocks) or [{"type": "text", "text": "x"}], "source": source}


class Near:
    """Draws values near to those that the session stands at."""

    def __init__(self, draw: st.DrawFn, session: Session) -> None:
        self.draw = draw
        self.session = session

    def pick(self, *items: Any) -> Any:
        return self.draw(st.sampled_from(items))

    @property
    def step(self) -> Row:
        """The open step, mostly."""
        turns = self.session.ledger.turns
        near = (0,) * 12 + (1, -1)
        return {"turn": turns.last + self.pick(*near), "step": turns.step + self.pick(*near)}

    @property
    def attempt(self) -> int:
        return self.session.ledger.attempts.last + int(self.pick(0, 1, 1, 2))

    @property
    def call(self) -> str:
        calls = self.session.ledger.calls
        return str(self.pick(*calls.pending, *calls.asked, "nobody"))

    @property
    def seqs(self) -> list[int]:
        near = st.integers(-1, self.session.next_seq)
        nodes = self.session.surface.nodes
        return self.draw(st.lists(st.sampled_from(nodes) if nodes else near, max_size=3) | st.lists(near, max_size=3))

    @property
    def compaction(self) -> str:
        own = self.session.ledger.compactions.open
        return str(self.pick(*([own.id] * 3 if own else []), "c?"))

    def result(self) -> Row:
        """A result of a near call; that of a settled one often as it was settled."""
        id, calls = self.call, self.session.ledger.calls
        if id in calls.settled and self.pick(True, True, False):
            found: Row = json.loads(self.session.events[calls.settled[id]].data_json)
            return found
        code = self.pick(None, "TOOL_FAILED", "TOOL_NOT_STARTED")
        block = {"type": "tool-result", "toolCallId": id, "content": [], "isError": code is not None}
        data = {**self.step, "message": message("user", {"kind": "tool", "callId": id}, block)}
        return data if code is None else {**data, "error": {"name": "E", "code": code}}


def _answer(near: Near) -> Row:
    calls = [{"type": "tool-call", "id": f"n{near.session.next_seq}", "name": "read", "arguments": "{}"}]
    blocks = near.pick([], [{"type": "text", "text": "x"}], calls)
    source = {"kind": "model", "provider": "p", "model": "m"}
    return {**near.step, "message": {**message("assistant", source), "content": blocks}}


def _replacement(near: Near) -> Row:
    source = near.pick({"kind": "user"}, {"kind": "plugin", "plugin": "compaction", "compactionId": near.compaction})
    return message("user", source)


def _shadow(near: Near) -> Row:
    return {
        "shadowedRange": {"startSeq": 0, "endSeq": 0},
        "shadowedSeqs": near.seqs,
        "shadowedTokens": near.pick(0, 5, 5, -1),
    }


DATA: dict[str, Any] = {
    "turn/start": lambda n: {"turn": n.session.ledger.turns.last + n.pick(1, 1, 0, 2)},
    "turn/end": lambda n: {"turn": n.step["turn"], "reason": {"kind": n.pick("completed", "interrupted", "forked")}},
    "step/start": lambda n: {"turn": n.step["turn"], "step": n.session.ledger.turns.step + n.pick(1, 1, 0, 2)},
    "step/end": lambda n: n.step,
    "system/message": lambda n: {**n.step, "message": message("system", {"kind": "system-prompt"})},
    "developer/message": lambda n: {**n.step, "message": message("developer", {"kind": "plugin", "plugin": "t"})},
    "user/message": _replacement,
    "request/header": lambda n: {"header": HEADER, "reason": "change"},
    "request/context": lambda n: {"provider": "p", "model": "m"},
    "request/sent": lambda n: {**n.step, "attempt": n.attempt, **BODY},
    "request/side": lambda n: {"id": "s", "purpose": "t", "prefix": "none", "header": HEADER, "messages": [], **BODY},
    "assistant/chunk": lambda n: {**n.step, "attempt": n.attempt, "records": []},
    "assistant/message": _answer,
    "assistant/attempt": lambda n: {**n.step, "attempt": n.attempt},
    "llm/retry": lambda n: {**n.step, "attempt": n.attempt, "delayMs": 1},
    "tool/call": lambda n: {**n.step, "callId": n.call, "name": "read", "arguments": "{}"},
    "tool/settled": lambda n: n.result(),
    "tool/result": lambda n: n.result(),
    "inbox/spliced": lambda n: {
        "target": "next-turn",
        "start": 0,
        "inserted": [{"message": user_message("x", id=f"in{n.session.next_seq}").value(), "wakes": True}],
    },
    "approval/asked": lambda n: {"id": n.pick("a", "b", *n.session.ledger.approvals.undecided), "toolName": "read"},
    "approval/decided": lambda n: {
        "id": n.pick("a", *n.session.ledger.approvals.undecided, *sorted(n.session.ledger.approvals.decided)),
        "outcome": "allowed-once",
    },
    "compaction/start": lambda n: {
        "compactionId": f"c{n.session.next_seq}",
        "turn": n.pick(n.session.ledger.turns.open_turn, None, 1),
        "trigger": "manual",
    },
    "compaction/summary": lambda n: {"compactionId": n.compaction, "summary": [], **_shadow(n)},
    "compaction/prune": lambda n: {**n.pick({}, {"compactionId": n.compaction}), **_shadow(n)},
    "compaction/end": lambda n: {
        "compactionId": n.compaction,
        "turn": n.pick(n.session.ledger.turns.open_turn, None, 1),
        **n.pick({}, {"error": {"message": "x", "code": "ABORTED"}}, {"sourceCommandId": "k"}, {"error": None}),
    },
    "todo/write": lambda n: {"todos": []},
    "session/title": lambda n: {"title": "t", "source": {"kind": "user"}},
    "session/end-seed": lambda n: {},
    "workspace/snapshot": lambda n: {"commit": "c", "dirty": False, "root": "/w"},
    "vendor/x": lambda n: [1, None],
}


def relevant(session: Session) -> list[str]:
    """Give the types whose rules have something to say now."""
    ledger = session.ledger
    found = ["user/message", "turn/start", "approval/asked", "approval/decided", "compaction/start"]
    if ledger.compactions.open is not None:
        found += ["compaction/summary", "compaction/prune", "compaction/end", "user/message", "turn/end"] * 2
    if ledger.turns.is_open:
        found += ["turn/end", "step/start", "step/end"]
    if ledger.turns.step_open:
        found += ["system/message", "developer/message"]
        found += ["request/sent", "assistant/chunk", "assistant/message", "assistant/attempt", "llm/retry"]
    if ledger.calls.asked:
        found += ["tool/call", "tool/settled", "tool/result", "tool/result"] * 2
    return found


@st.composite
def candidates(draw: st.DrawFn, session: Session) -> Row:
    """Give a row that may be appended or not."""
    near = Near(draw, session)
    kind = draw(st.sampled_from(sorted(DATA)) | st.sampled_from(relevant(session)))
    row: Row = {"seq": session.next_seq, "type": kind, "data": DATA[kind](near)}
    on_surface = kind in CORE and CORE[kind].surface
    if on_surface:
        row |= _operation(near, kind, row)
    elif draw(st.integers(0, 20)) == 0:
        row |= near.pick({"surfaceOp": "append"}, {"sourceEventSeqs": [0]})
    if draw(st.integers(0, 8)) == 0 or (kind not in CORE and near.pick(True, True, False)):
        row["ignorable"] = True
    return row


def _operation(near: Near, kind: str, row: Row) -> Row:
    nodes = near.session.surface.nodes
    choice = near.draw(st.integers(0, 9))
    if choice == 0:
        return {}
    if choice < 5 or not nodes:
        return {"surfaceOp": "append", **near.pick({}, {}, {"sourceEventSeqs": near.seqs})}
    start = near.draw(st.integers(0, len(nodes) - 1))
    end = min(start + near.draw(st.integers(0, 4)), len(nodes) - 1)
    start, end = near.pick((start, end), (start, end), (start, start), (end, start))
    sources = list(nodes[min(start, end) : max(start, end) + 1])
    if kind == "tool/result" and near.pick(True, True, False):
        row["data"] = _rewritten(near, nodes[start], row["data"])
    elif isinstance(old := near.session.events[nodes[start]].data, object) and "turn" in row["data"]:
        row["data"] |= near.pick({}, {k: getattr(old, k) for k in ("turn", "step") if hasattr(old, k)})
    op = {"op": "replace", "startSeq": nodes[start], "endSeq": nodes[end]}
    return {"surfaceOp": op, "sourceEventSeqs": near.pick(sources, sources, sources, near.seqs, sources[:-1])}


def _rewritten(near: Near, seq: int, data: Row) -> Row:
    """The data of a result with other content, and sometimes with more changed than that."""
    event = near.session.events[seq]
    if event.type != "tool/result":
        return data
    found: Row = json.loads(event.data_json)
    found["message"]["content"][0]["content"] = [{"type": "text", "text": "cut"}]
    if near.pick(True, True, False):
        return found
    return {**found, **near.pick({"meta": 1}, {"turn": 99})}
