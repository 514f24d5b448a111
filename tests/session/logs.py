"""Strategies for logs: sound ones by a random walk, and foreign ones of the right outer shape only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from tests.session.stories import Story

from everlog.session import CORE, Event, Recording, read_event
from everlog.session.messages import user_message
from everlog.session.payloads import (
    ApprovalAsked,
    ApprovalDecided,
    EndSeed,
    InboxSpliced,
    SessionTitle,
    Todo,
    TodoWrite,
    Usage,
    WorkspaceSnapshot,
)

CONTENT = "§content§"
"""Stands in every text of a walk, so that a test can see whether content got where it should not."""

Choose = Callable[[int], int]
"""Gives a whole number from 0 up to, not including, the one given."""


class Walk:
    """Appends what a session may hold next, one choice after another."""

    def __init__(self, story: Story, choose: Choose) -> None:
        self.story = story
        self.session = story.session
        self.choose = choose
        self._count = self.session.next_seq

    def fresh(self, prefix: str) -> str:
        """Give an id that this walk has not given before."""
        self._count += 1
        return f"{prefix}{self._count}"

    def pick(self, items: Any) -> Any:
        found = list(items)
        return found[self.choose(len(found))]

    def go(self) -> None:
        """Take one legal move."""
        self.pick(self.moves())()

    def moves(self) -> list[Callable[[], object]]:
        """Give what may be done now; what matters more stands more often."""
        found = [self.queue, self.unqueue, self.title, self.side, self.note, self.ask, self.decide]
        ledger = self.session.ledger
        if not ledger.calls.pending:
            found += [self.enter, self.prompt]
        if ledger.compactions.open is None:
            found += [self.compact] * 2
        else:
            found += [self.end_compaction] * 3
        if ledger.turns.step_open:
            return found + self.step_moves()
        if ledger.turns.is_open:
            found += [self.story.step] * 5 + [self.todo]
            return found + ([self.story.end_turn] * 3 if ledger.compactions.open is None else [])
        found += [self.seed]
        return found + ([self.story.turn] * 8 if ledger.compactions.open is None else [])

    def step_moves(self) -> list[Callable[[], object]]:
        ledger = self.session.ledger
        found: list[Callable[[], object]] = [self.header, self.story.context, self.todo, self.snapshot]
        if ledger.calls.pending:
            return found + self.call_moves() * 4
        found += [self.system, self.developer, self.prune, self.story.end_step, self.story.end_step]
        attempts = ledger.attempts
        if attempts.running:
            return found + [self.chunk] * 4 + [self.answer] * 4 + [self.fail]
        if attempts.answered:
            return found
        if attempts.last and not attempts.retried:
            return found + [self.retry] * 3
        return found + [self.sent] * 5 + [self.chunk, self.answer]

    def call_moves(self) -> list[Callable[[], object]]:
        calls = self.session.ledger.calls
        found: list[Callable[[], object]] = []
        if any(id not in calls.taken for id in calls.pending):
            found += [self.take]
        if any(id in calls.taken and id not in calls.settled for id in calls.pending):
            found += [self.settle]
        return [*found, self.result]

    # -- anywhere

    def text(self) -> str:
        return self.pick([CONTENT, f"{CONTENT} a", f"{CONTENT} é\u0000", f"{CONTENT} 🙂 \u2028"])

    def prompt(self) -> None:
        self.story.prompt(self.text(), id=self.fresh("u"))

    def queue(self) -> None:
        target = self.pick(["next-turn", "next-step"])
        start = len(getattr(self.session.project("inbox"), target.replace("-", "_")))
        item = {"message": user_message(self.text(), id=self.fresh("i")).value(), "wakes": self.choose(2) == 1}
        self.session.append_json("inbox/spliced", {"target": target, "start": start, "inserted": [item]})

    def unqueue(self) -> None:
        target = self.pick(["next-turn", "next-step"])
        self.session.append(InboxSpliced(target=target, start=self.choose(2), removed_count=1, outcome="removed"))

    def enter(self) -> None:
        inbox = list(self.session.project("inbox"))
        if inbox:
            self.session.append(self.pick(inbox).message, "append")

    def title(self) -> None:
        self.session.append(SessionTitle(title=self.text()))

    def side(self) -> None:
        self.story.side(self.fresh("side"), self.text(), prefix=self.pick(["surface", "none"]))

    def note(self) -> None:
        self.session.append_json("vendor/note", {"any": [1, self.text(), None]}, ignorable=True)

    def seed(self) -> None:
        self.session.append(EndSeed(inherited=self.pick([None, True])))

    def ask(self) -> None:
        call = self.pick([None, *self.session.ledger.calls.pending])
        self.session.append(ApprovalAsked(id=self.fresh("ask"), tool_name="read", call_id=call))

    def decide(self) -> None:
        asked = list(self.session.ledger.approvals.undecided)
        if asked:
            outcome = self.pick(["allowed-once", "allowed-always", "rejected", "cancelled"])
            self.session.append(ApprovalDecided(id=self.pick(asked), outcome=outcome))

    # -- in a turn

    def todo(self) -> None:
        self.session.append(TodoWrite(todos=(Todo(content=self.text(), status="pending"),)))

    def snapshot(self) -> None:
        self.session.append(WorkspaceSnapshot(commit="c0ffee", dirty=False, root="/w"))

    def header(self) -> None:
        self.story.header(self.pick(["m", "n"]), reason="change")

    def system(self) -> None:
        self.story.system(self.text())

    def developer(self) -> None:
        self.story.developer(self.text())

    # -- attempts

    def next_attempt(self) -> int:
        attempts = self.session.ledger.attempts
        return attempts.last if attempts.running else attempts.last + 1

    def sent(self) -> None:
        self.story.sent(self.next_attempt())

    def chunk(self) -> None:
        text, kind = self.text(), self.pick(["text", "reasoning", "tool-call", "usage", "text"])
        packed: dict[str, Any] = {"kind": kind, "index": self.choose(2), "t0": 10 + self.choose(50)}
        if kind == "usage":
            packed["usage"] = {"inputTokens": self.choose(9), "outputTokens": self.choose(9)}
        else:
            packed |= {"dt": [self.choose(9)], "parts": [text, "!"]}
        if kind == "tool-call":
            packed["id"] = "x"
        self.story.chunk(attempt=self.next_attempt(), records=[packed])

    def answer(self) -> None:
        calls = [self.fresh("call") for _ in range(self.choose(4))]
        usage = Usage(input_tokens=self.choose(9), cache_read_tokens=self.choose(9)) if self.choose(2) else None
        text = self.pick(["", self.text()])
        self.story.answer(text, calls=calls, usage=usage, reasoning=self.pick(["", CONTENT]))

    def fail(self) -> None:
        self.story.fail(self.next_attempt(), code=self.pick(["SERVER", None]), usage=self.pick([None, Usage()]))

    def retry(self) -> None:
        self.story.retry(self.session.ledger.attempts.last)

    # -- calls

    def take(self) -> None:
        calls = self.session.ledger.calls
        self.story.call(self.pick(id for id in calls.pending if id not in calls.taken))

    def settle(self) -> None:
        calls = self.session.ledger.calls
        ready = [id for id in calls.pending if id in calls.taken and id not in calls.settled]
        self.story.settle(self.pick(ready), CONTENT)

    def result(self) -> None:
        calls = self.session.ledger.calls
        id = calls.pending[0]
        if id in calls.settled:
            settled: Any = self.session.events[calls.settled[id]].data
            self.session.append_json("tool/result", settled.value(), "append", [calls.taken[id]])
        elif id in calls.taken:
            self.story.result(id, CONTENT, code=self.pick([None, "TOOL_FAILED", "TOOL_OUTCOME_UNKNOWN"]))
        else:
            self.story.result(id, CONTENT, code="TOOL_NOT_STARTED")

    # -- the view shortened

    def prune(self) -> None:
        events = self.session.events
        results = [seq for seq in self.session.surface.nodes if events[seq].type == "tool/result"]
        if results:
            self.story.prune(self.pick(results), f"{CONTENT} cut")

    def compact(self) -> None:
        """Compact a run of nodes that parts no call from its result, or only begin to, or fail."""
        whole = self.whole_runs()
        kind = self.choose(4)
        if kind == 0 or not whole:
            turn = self.session.ledger.turns.open_turn
            self.session.append_json(
                "compaction/start", {"compactionId": self.fresh("c"), "turn": turn, "trigger": "manual"}
            )
        elif not self.session.ledger.calls.pending:
            start, end = self.pick(whole)
            self.story.compact(start, end, CONTENT, id=self.fresh("c"))

    def end_compaction(self) -> None:
        own = self.session.ledger.compactions.open
        assert own is not None
        error = {"message": "cancelled", "code": "ABORTED"}
        self.session.append_json("compaction/end", {"compactionId": own.id, "turn": own.turn, "error": error})

    def whole_runs(self) -> list[tuple[int, int]]:
        """Give the runs of nodes that may be replaced, as (first, last)."""
        nodes = self.session.surface.nodes
        types = [self.session.events[seq].type for seq in nodes]
        starts = [i for i, type in enumerate(types) if type not in ("system/message", "tool/result")]
        ends = [i for i in range(len(types)) if i + 1 == len(types) or types[i + 1] != "tool/result"]
        return [(nodes[a], nodes[b]) for a in starts for b in ends if a <= b][:40]


@st.composite
def stories(draw: st.DrawFn, moves: int = 40) -> Story:
    """Give a sound session of up to so many moves; its tail may stand open."""
    choices = draw(st.lists(st.integers(0, 2**16), min_size=moves // 2, max_size=moves))
    story = Story()
    for choice in choices:
        Walk(story, chooser(choice)).go()
    return story


def chooser(number: int) -> Choose:
    """Give the choices that one number stands for, so that a shrunk number is a simpler move."""
    left = [number]

    def choose(count: int) -> int:
        left[0], found = divmod(left[0], count)
        return found

    return choose


# -- foreign logs

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
)
_KEYS = """
    turn step attempt id callId name arguments message content role source kind reason error code records header config
    tools usage target start removedCount inserted wakes outcome toolName todos title prefix messages compactionId
    shadowedRange shadowedSeqs shadowedTokens summary stream isError toolCallId type text inherited
"""
NAMES = st.sampled_from(_KEYS.split())
VALUES = st.recursive(
    SCALARS
    | st.sampled_from(["user", "assistant", "text", "tool-call", "tool-result", "next-turn", "surface", "usage"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)
TYPES = st.sampled_from([*CORE, "vendor/thing", "agent/inbox/spliced", ""])
OPS = (
    st.none()
    | st.just("append")
    | st.builds(lambda a, b: {"op": "replace", "startSeq": a, "endSeq": b}, st.integers(-1, 30), st.integers(-1, 30))
)
RAW = st.sampled_from(["1e400", '{"turn":1e400}', '{"turn":1,"turn":2}', '{"a":' * 40 + "1" + "}" * 40, "9" * 4400])


UNHOLDABLE = "§1e400§"
"""Becomes a number that JSON has and no value can hold."""


@st.composite
def foreign_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Give rows of the right outer shape: from a sound log, but shuffled, dropped, repeated, bent; and random ones."""
    sound = [json.loads(event.to_json()) for event in draw(stories(30)).session.events]
    rows = draw(st.lists(st.sampled_from(sound), max_size=25)) if sound and draw(st.booleans()) else sound
    rows = [json.loads(json.dumps(row)) for row in rows]
    for row in rows:
        if draw(st.integers(0, 3)) == 0:
            _bend(draw, row)
    made = draw(st.lists(st.fixed_dictionaries({"type": TYPES, "data": VALUES, "surfaceOp": OPS}), max_size=6))
    for row in made:
        rows.insert(draw(st.integers(0, len(rows))), row)
    return rows


def _bend(draw: st.DrawFn, row: dict[str, Any]) -> None:
    """Change one value somewhere in a row's data, or its surface operation."""
    if draw(st.integers(0, 4)) == 0:
        row["surfaceOp"] = draw(OPS)
        return
    holder: Any = row["data"]
    while isinstance(holder, dict) and holder:
        key = draw(st.sampled_from(sorted(holder)))
        inner = holder[key][0] if isinstance(holder[key], list) and holder[key] else holder[key]
        if not isinstance(inner, dict) or draw(st.booleans()):
            holder[key] = draw(VALUES)
            return
        holder = inner


@st.composite
def foreign_logs(draw: st.DrawFn) -> Recording:
    """Give a recording of foreign rows; some hold JSON that no value can hold."""
    header = Story().session.header
    return Recording(header, [foreign_event(draw, seq, row) for seq, row in enumerate(draw(foreign_rows()))])


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Give every object in a value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)


def foreign_event(draw: st.DrawFn, seq: int, row: dict[str, Any]) -> Event:
    if draw(st.integers(0, 12)) == 0:
        holders = list(_objects(row["data"]))
        if holders:
            draw(st.sampled_from(holders))["zz"] = UNHOLDABLE
    data = draw(RAW) if draw(st.integers(0, 30)) == 0 else json.dumps(row["data"])
    data = data.replace(json.dumps(UNHOLDABLE), "1e400")
    parts = [f'"seq":{seq}', f'"type":{json.dumps(row["type"])}', f'"time":{row.get("time", 5)}', f'"data":{data}']
    if row.get("surfaceOp") is not None:
        parts.append(f'"surfaceOp":{json.dumps(row["surfaceOp"])}')
    if row.get("sourceEventSeqs") is not None:
        parts.append(f'"sourceEventSeqs":{json.dumps(row["sourceEventSeqs"])}')
    if row.get("ignorable"):
        parts.append('"ignorable":true')
    return read_event(("{" + ",".join(parts) + "}").encode())
