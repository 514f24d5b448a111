"""Input waits in the log: it is put there by events, and leaves by being entered or by a splice that says why."""

import pytest

from everlog.agent import inbox
from everlog.agent.seam import InputRefused
from everlog.session import Session
from everlog.session.messages import File, Image, Message, Text, UserSource, system_message, user_message
from everlog.store import open_store


@pytest.fixture
def session() -> Session:
    return Session.create()


def test_inputs_wait_in_their_order_and_by_their_target(session: Session) -> None:
    inbox.put(session, "first", "next-turn", wakes=True)
    inbox.put(session, "context", "next-step", wakes=False)
    inbox.put(session, "second", "next-turn", wakes=True)
    waiting = inbox.pending(session)
    assert [input.message.text for input in waiting.next_turn] == ["first", "second"]
    assert [input.message.text for input in waiting.next_step] == ["context"]
    assert [input.wakes for input in waiting] == [False, True, True]


def test_an_input_is_history_when_its_message_is_entered(session: Session) -> None:
    message = inbox.put(session, "hello", "next-turn", wakes=True)
    session.append(message, "append")
    assert len(inbox.pending(session)) == 0
    assert [m.id for m in session.messages()] == [message.id]


def test_an_input_whose_id_is_history_is_refused_and_one_that_was_taken_out_may_come_again(session: Session) -> None:
    entered = inbox.put(session, "hello", "next-turn", wakes=True)
    dropped = inbox.put(session, "never mind", "next-turn", wakes=True)
    session.append(entered, "append")
    inbox.take_out(session, [dropped.id], "removed")
    before = session.next_seq
    with pytest.raises(InputRefused, match=f"{entered.id} is history already"):
        inbox.put(session, entered, "next-step", wakes=True)
    assert session.next_seq == before
    inbox.put(session, dropped, "next-turn", wakes=True)


def test_what_is_history_is_told_as_of_the_seq_that_was_asked_for(session: Session) -> None:
    earlier = inbox.pending(session)
    session.append(user_message("hello", id="m1"), "append")
    assert inbox.pending(session).is_history("m1")
    assert not earlier.is_history("m1")
    assert inbox.pending(session.fork()).is_history("m1")


def test_inputs_are_taken_out_one_by_one_wherever_they_stand(session: Session) -> None:
    put = [inbox.put(session, text, "next-step", wakes=True) for text in "abcd"]
    inbox.take_out(session, [put[2].id, "unknown", put[0].id], "rejected")
    assert [input.message.text for input in inbox.pending(session)] == ["b", "d"]
    assert [event.data["outcome"] for event in session.events if "outcome" in event.data] == ["rejected"] * 2


def test_clearing_takes_out_both_queues_by_one_event_each(session: Session) -> None:
    for text, target in (("a", "next-turn"), ("b", "next-turn"), ("c", "next-step")):
        inbox.put(session, text, target, wakes=True)  # type: ignore[arg-type]
    inbox.clear(session)
    assert len(inbox.pending(session)) == 0
    assert [e.data["outcome"] for e in session.events.between(3, session.next_seq)] == ["cleared"] * 2
    inbox.clear(session)
    assert session.next_seq == 5


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("", "empty"),
        (user_message([]), "empty"),
        (system_message("You are a cat."), "role user"),
        (user_message([Text(text="see"), Image(blob="00", media_type="image/png")]), "does not hold"),
        (user_message([File(blob="00", name="a.txt", media_type="text/plain")]), "does not hold"),
    ],
)
def test_what_could_never_be_sent_is_refused_and_changes_nothing(
    session: Session, message: Message | str, says: str
) -> None:
    with pytest.raises(InputRefused, match=says):
        inbox.put(session, message, "next-turn", wakes=True)
    assert session.next_seq == 0


def test_two_pending_inputs_cannot_share_an_id(session: Session) -> None:
    message = inbox.put(session, "hello", "next-turn", wakes=True)
    with pytest.raises(InputRefused, match="pending already"):
        inbox.put(session, message, "next-step", wakes=True)


def test_text_from_a_terminal_is_made_safe(session: Session) -> None:
    inbox.put(session, "half a \ud83d face", "next-turn", wakes=True)
    assert inbox.pending(session).next_turn[0].message.text == "half a � face"


def test_a_message_keeps_its_id_and_unknown_keys(session: Session) -> None:
    given = Message(id="mine", role="user", content=(Text(text="hi"),), source=UserSource())
    assert inbox.put(session, given, "next-turn", wakes=True).id == "mine"
    assert inbox.pending(session).next_turn[0].message == given


async def test_an_image_is_taken_when_the_store_holds_its_content() -> None:
    async with open_store("memory:") as store, await store.create() as session:
        held = session.blobs.put(b"a picture")
        inbox.put(session, user_message([Image(blob=held, media_type="image/png")]), "next-turn", wakes=True)
        with pytest.raises(InputRefused, match="put it there first"):
            inbox.put(session, user_message([Image(blob="00", media_type="image/png")]), "next-turn", wakes=True)
        assert len(inbox.pending(session)) == 1
