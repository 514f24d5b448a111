"""Writing the inbox: every change of it but an entering is an event, and what is pending is told by the log.

An input is proposed to a step without leaving the inbox. It leaves when a `user/message` with its id is
appended, or by a splice that says why. So a process that ends anywhere leaves each input exactly once: pending,
or history.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, cast

from everlog.agent.seam import InputRefused
from everlog.session.jsonvalue import scrub
from everlog.session.live import Session
from everlog.session.messages import File, Image, Message, user_message
from everlog.session.payloads import InboxItem, InboxSpliced
from everlog.session.projections.inbox import Inbox, Pending
from everlog.store.seam import DurableSession

Target: TypeAlias = Literal["next-turn", "next-step"]
Outcome: TypeAlias = Literal["removed", "replaced", "cleared", "rejected"]


def pending(session: Session) -> Inbox:
    """Give what waits, as of now."""
    return cast("Inbox", session.project("inbox"))


def put(session: Session, message: Message | str, target: Target, wakes: bool) -> Message:
    """Add an input at the end of its queue, and give its message.

    Raises:
        InputRefused: it could never be part of a request, or its id is pending or history already.
    """
    found = user_message(scrub(message)) if isinstance(message, str) else message
    waiting = pending(session)
    _refuse_unfit(session, found, waiting)
    queue = waiting.next_turn if target == "next-turn" else waiting.next_step
    item = InboxItem(message=found, wakes=wakes)
    session.append(InboxSpliced(target=target, start=len(queue), inserted=(item,)))
    return found


def take_out(session: Session, ids: Iterable[str], outcome: Outcome) -> None:
    """Take inputs out without entering them. An id that is not pending is passed over."""
    for id in ids:
        found = next((input for input in pending(session) if input.id == id), None)
        if found is not None:
            _splice_out(session, found, 1, outcome)


def clear(session: Session) -> None:
    """Take everything out."""
    waiting = pending(session)
    for queue in (waiting.next_step, waiting.next_turn):
        if queue:
            _splice_out(session, queue[0], len(queue), "cleared")


def _splice_out(session: Session, first: Pending, count: int, outcome: Outcome) -> None:
    session.append(InboxSpliced(target=first.target, start=first.position, removed_count=count, outcome=outcome))


def _refuse_unfit(session: Session, message: Message, waiting: Inbox) -> None:
    if message.role != "user":
        raise InputRefused(f"an input is a message with role user, not {message.role}")
    if not any(getattr(block, "text", True) for block in message.content):
        raise InputRefused("an input must say something; this one is empty")
    if message.id in waiting:
        raise InputRefused(f"an input with the id {message.id} is pending already; give this one another")
    if waiting.is_history(message.id):
        raise InputRefused(f"a message with the id {message.id} is history already; give this input another")
    for block in message.content:
        if isinstance(block, Image | File) and not _is_kept(session, block.blob):
            raise InputRefused(
                f"an input names the blob {block.blob}, which its store does not hold; put it there first"
            )


def _is_kept(session: Session, blob: str) -> bool:
    """Tell whether the content of an image or a file is where requests will look for it."""
    if not isinstance(session, DurableSession):
        return False
    try:
        session.blobs.get(blob)
    except LookupError:
        return False
    return True
