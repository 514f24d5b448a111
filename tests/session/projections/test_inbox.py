"""The inbox holds each input exactly until it becomes history or is taken out."""

from __future__ import annotations

from everlog.session import Session
from everlog.session.messages import user_message
from everlog.session.payloads import InboxItem, InboxSpliced, TurnStart
from everlog.session.projections.inbox import Inbox


def splice(
    session: Session,
    target: str,
    *ids: str,
    start: int = 0,
    removed: int = 0,
    wakes: bool = True,
    outcome: str | None = None,
) -> None:
    items = tuple(InboxItem(message=user_message(f"text of {id}", id=id), wakes=wakes) for id in ids)
    session.append(InboxSpliced(target=target, start=start, removed_count=removed, inserted=items, outcome=outcome))


def ids(inbox: Inbox) -> tuple[list[str], list[str]]:
    return [p.id for p in inbox.next_step], [p.id for p in inbox.next_turn]


def test_input_waits_in_order_for_each_target() -> None:
    session = Session.create()
    splice(session, "next-turn", "a")
    splice(session, "next-turn", "b", start=1)
    splice(session, "next-step", "s", wakes=False)
    inbox: Inbox = session.project("inbox")
    assert ids(inbox) == (["s"], ["a", "b"])
    assert [p.wakes for p in inbox] == [False, True, True]
    assert [p.position for p in inbox.next_turn] == [0, 1]
    assert [p.message.text for p in inbox] == ["text of s", "text of a", "text of b"]
    assert inbox.wakes


def test_input_leaves_when_a_message_with_its_id_is_appended() -> None:
    session = Session.create()
    splice(session, "next-turn", "a", "b")
    session.append(TurnStart(turn=1))
    session.append(user_message("rewritten by a hook", id="a"), "append")
    assert ids(session.project("inbox")) == ([], ["b"])
    session.append(user_message("another", id="c"), "append")
    assert ids(session.project("inbox")) == ([], ["b"])


def test_a_splice_with_an_outcome_takes_input_out_and_may_replace_it() -> None:
    session = Session.create()
    splice(session, "next-turn", "a", "b", "c")
    splice(session, "next-turn", "B", start=1, removed=1, outcome="replaced")
    assert ids(session.project("inbox")) == ([], ["a", "B", "c"])
    splice(session, "next-turn", removed=3, outcome="cleared")
    assert len(session.project("inbox")) == 0


def test_a_step_proposes_steering_and_the_first_step_one_followup_as_well() -> None:
    session = Session.create()
    splice(session, "next-turn", "a", "b")
    splice(session, "next-step", "s", "t")
    inbox: Inbox = session.project("inbox")
    assert [p.id for p in inbox.proposal(1)] == ["s", "t", "a"]
    assert [p.id for p in inbox.proposal(2)] == ["s", "t"]


def test_an_earlier_view_stays_as_it_was_and_every_seq_can_be_asked() -> None:
    session = Session.create()
    splice(session, "next-turn", "a")
    before: Inbox = session.project("inbox")
    session.append(user_message("x", id="a"), "append")
    assert ids(before) == ids(session.project("inbox", at=0)) == ([], ["a"])
    assert len(session.project("inbox")) == 0


def test_a_splice_beyond_the_queue_joins_its_end() -> None:
    session = Session.create()
    splice(session, "next-turn", "a", start=7, removed=3)
    assert ids(session.project("inbox")) == ([], ["a"])


def test_a_fork_inherits_what_is_pending() -> None:
    session = Session.create()
    splice(session, "next-turn", "a")
    fork = session.fork()
    fork.append(user_message("x", id="a"), "append")
    assert ids(session.project("inbox")) == ([], ["a"])
    assert len(fork.project("inbox")) == 0
