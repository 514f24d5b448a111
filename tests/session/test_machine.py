"""A session against a naive model of it: whatever is tried, in whatever order, the two agree."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.session import reference
from tests.session.candidates import candidates
from tests.session.logs import Walk, chooser
from tests.session.plain import everything, own
from tests.session.stories import Story

from everlog.session import AppendRefused, Event, ForkRefused, Log, Recording, Replace, Session, read_event
from everlog.session.reloading import reload
from everlog.session.repair import closers, interrupted_message, running_chunks
from everlog.session.rules import check

NEEDED = {
    "turn/start": "turn",
    "turn/end": "reason",
    "step/start": "step",
    "user/message": "content",
    "assistant/message": "message",
    "tool/call": "arguments",
    "tool/result": "message",
    "request/header": "header",
    "approval/decided": "outcome",
    "compaction/summary": "shadowedSeqs",
}
"""A key without which the data of a type is refused."""

MOVES = st.integers(0, 2**16)
BACK = st.integers(0, 8) | st.integers(0, 60)
"""How many events before the end; mostly few, so that sessions grow."""


def from_bytes(log: Log, count: int | None = None) -> list[Event]:
    return [read_event(event.to_json()) for event in log.events[:count]]


class SessionMachine(RuleBasedStateMachine):
    """Drives one session; forks, cuts and reloads go on with what they give."""

    def __init__(self) -> None:
        super().__init__()
        self.parents: list[tuple[Session, list[bytes]]] = []
        self.go_on_with(Story().session)

    def go_on_with(self, session: Session) -> None:
        self.session = session
        self.story = Story(session)
        self.rows = [reference.row_of(event) for event in session.events]
        self.disagreements: list[str] = []
        session.observe(self.committed)

    def committed(self, event: Event) -> None:
        row = reference.row_of(event)
        if not reference.allows(self.rows, row):
            self.disagreements.append(f"{row} was taken")
        self.rows.append(row)

    # -- appends

    @rule(moves=st.lists(MOVES, min_size=1, max_size=10))
    def append_what_is_valid(self, moves: list[int]) -> None:
        for move in moves:
            Walk(self.story, chooser(move)).go()

    @rule(moves=st.lists(MOVES, min_size=5, max_size=20))
    def go_far(self, moves: list[int]) -> None:
        self.append_what_is_valid(moves)

    @rule(data=st.data(), count=st.integers(1, 8))
    def append_what_may_be_refused(self, data: st.DataObject, count: int) -> None:
        in_full = True
        for _ in range(count):
            row = data.draw(candidates(self.session))
            if reference.allows(self.rows, row):
                self.try_to_append(row)
            else:
                self.is_refused(row, in_full)
                in_full = False

    def is_refused(self, row: dict[str, Any], in_full: bool = True) -> None:
        """A refused append leaves every byte, and looked at in full every projection, as it was."""
        look = everything if in_full else own
        before = look(self.session)
        with pytest.raises(AppendRefused):
            self.try_to_append(row)
        assert look(self.session) == before

    def try_to_append(self, row: dict[str, Any]) -> None:
        op, sources = row.get("surfaceOp"), row.get("sourceEventSeqs")
        self.session.append_json(row["type"], row["data"], op, sources, ignorable=row.get("ignorable", False))

    @rule(data=st.data())
    def append_what_has_not_the_shape_of_its_type(self, data: st.DataObject) -> None:
        row = data.draw(candidates(self.session))
        needed = NEEDED.get(row["type"])
        if needed is not None:
            self.is_refused({**row, "data": {key: value for key, value in row["data"].items() if key != needed}})

    @rule(bad=st.sampled_from([float("nan"), float("inf"), b"x", {1}, {1: 2}, "\ud800", object()]))
    def append_what_is_not_json(self, bad: object) -> None:
        self.is_refused({"type": "session/title", "data": {"title": "x", "deep": [bad]}})
        self.is_refused({"type": "vendor/x", "data": bad, "ignorable": True}, in_full=False)

    @precondition(lambda self: not self.session.ledger.compactions.open)
    @rule(move=MOVES)
    def replace_a_run_of_nodes(self, move: int) -> None:
        choose, walk = chooser(move), Walk(self.story, chooser(move))
        runs = walk.whole_runs()
        if runs and not self.session.ledger.calls.pending:
            start, end = runs[choose(len(runs))]
            nodes = self.session.surface.nodes
            sources = list(nodes[nodes.index(start) : nodes.index(end) + 1])
            message = {"id": walk.fresh("x"), "role": "user", "content": [], "source": {"kind": "user"}}
            message["content"] = [{"type": "text", "text": "instead"}]
            self.session.append_json("user/message", message, Replace(start, end), sources)

    @rule(move=MOVES)
    def prune(self, move: int) -> None:
        if self.session.ledger.turns.is_open:
            Walk(self.story, chooser(move)).prune()

    @precondition(lambda self: self.session.ledger.turns.is_open)
    @rule()
    def cancel(self) -> None:
        story, ledger = self.story, self.session.ledger
        if ledger.turns.step_open:
            self._cancel_step()
        if ledger.compactions.open is not None:
            Walk(story, chooser(0)).end_compaction()
        reason = {"kind": "aborted", "reason": {"kind": "user"}}
        self.session.append_json("turn/end", {"turn": ledger.turns.last, "reason": reason})

    def _cancel_step(self) -> None:
        story, ledger = self.story, self.session.ledger
        if ledger.attempts.running:
            partial = interrupted_message(self.session, running_chunks(self.session))
            if partial is None:
                story.fail(ledger.attempts.last, code=None)
            else:
                self.session.append(partial, "append", [event.seq for event in running_chunks(self.session)])
        for id in list(ledger.calls.pending):
            if id in ledger.calls.settled:
                Walk(story, chooser(0)).result()
            else:
                story.result(id, code="ABORTED" if id in ledger.calls.taken else "TOOL_NOT_STARTED")
        story.end_step()

    # -- other lives

    @rule(back=BACK, close=st.booleans())
    def fork(self, back: int, close: bool) -> None:
        parent, rows = self.session, self.rows
        seq = max(len(rows) + 1 - back, -1)  # sometimes none of its events
        legal = 0 <= seq < len(rows) and (close or reference.open_turn(rows[: seq + 1]) is None)
        how: Any = "close" if close else "refuse"
        if not legal:
            with pytest.raises(ForkRefused) as refused:
                parent.fork(seq, how)
            self._names_the_nearest(refused.value, seq)
            return
        child = parent.fork(seq, how)
        assert [e.to_json() for e in child.events[: seq + 1]] == [e.to_json() for e in parent.events[: seq + 1]]
        added = [event.type for event in child.events[seq + 1 :]]
        assert (added[:1] == ["session/end-seed"]) == (rows[seq]["type"] != "session/end-seed")
        assert added[-1:] in ([], ["session/end-seed"], ["turn/end"])
        assert check(child) == []
        self.parents.append((parent, [event.to_json() for event in parent.events]))
        self.go_on_with(child)

    def _names_the_nearest(self, refused: ForkRefused, seq: int) -> None:
        legal = [at for at in range(len(self.rows)) if reference.open_turn(self.rows[: at + 1]) is None]
        before, after = [at for at in legal if at <= seq], [at for at in legal if at > seq]
        assert refused.before == (before[-1] if before else None)
        assert refused.after == (after[0] if after else None)

    @rule(back=st.just(0) | BACK)
    def cut_and_reload(self, back: int) -> None:
        """The process is killed after some event, and the session is opened again."""
        kept = from_bytes(self.session, max(len(self.rows) - back, 0))
        self.go_on_with(reload(self.session.header, kept, clock=Story().session._clock))

    # -- what always holds

    @invariant()
    def the_model_agrees(self) -> None:
        assert self.disagreements == []
        assert list(self.session.surface.nodes) == reference.surface(self.rows)
        assert self.session.surface.generation == reference.generation(self.rows)
        assert [json.loads(m.to_json()) for m in self.session.messages()] == reference.messages(self.rows)
        assert list(self.session.ledger.calls.pending) == reference.pending(self.rows)
        assert self.session.ledger.turns.open_turn == reference.open_turn(self.rows)

    def teardown(self) -> None:
        log = Recording(self.session.header, from_bytes(self.session))
        assert log.violations == ()
        assert everything(log) == everything(self.session)
        for seq in range(-1, len(self.rows)):
            earlier = self.session.surface.at(seq)
            assert list(earlier.nodes) == reference.surface(self.rows[: seq + 1])
            assert earlier.generation == reference.generation(self.rows[: seq + 1])
        for parent, before in self.parents:
            assert [event.to_json() for event in parent.events] == before
        repaired = [*log.events, *closers(log)]
        assert closers(Recording(log.header, repaired)) == []


SessionMachine.TestCase.settings = settings(
    max_examples=300, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSession = pytest.mark.slow(SessionMachine.TestCase)
