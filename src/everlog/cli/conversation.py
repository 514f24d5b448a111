"""Has an agent take a turn, and tells it to a face; Ctrl-C cancels the turn, and a second one quits."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from everlog.agent.seam import TROUBLE, Agent
from everlog.cli.faces import Face
from everlog.cli.outcome import Outcome, last_turn
from everlog.cli.plain import one_line
from everlog.kernel import Registration
from everlog.session.event import Event


async def converse(agent: Agent, face: Face, notices: Iterable[str], begin: Callable[[Agent], object]) -> Outcome:
    """Call `begin`, which gives the agent something to do, and tell what happens until it is idle.

    `notices` are told before anything else but the agent itself. A turn that did not come to its end is complained
    about on stderr. Raises what ended the agent: a lost lease, a
    store that failed.
    """
    face.begin(agent)
    for notice in notices:
        face.notice(notice)
    reader = _Reader(face)
    unsee = agent.session.observe(reader.tell)
    try:
        with telling_trouble(agent, face.notice), interruptible(agent, face.notice, "cancelling the turn"):
            begin(agent)
            await agent.when_idle()
    except asyncio.CancelledError:
        if reader.left is not None:
            raise reader.left from None
        raise
    finally:
        unsee()
    outcome = last_turn(agent.session)
    face.end(outcome)
    if outcome.complaint:
        sys.stdout.flush()
        print(f"everlog: {one_line(outcome.complaint)}", file=sys.stderr)
    return outcome


class _Reader:
    """Tells a face what happens, until whoever reads its output leaves: then the command is cancelled.

    Attributes:
        left: the error that said so, or None.
    """

    def __init__(self, face: Face) -> None:
        self._face = face
        self._task = asyncio.current_task()
        self.left: BrokenPipeError | None = None

    def tell(self, event: Event) -> None:
        """Tell the face of an event, unless nobody reads it any more."""
        if self.left is not None:
            return
        try:
            self._face.tell(event)
        except BrokenPipeError as error:
            self.left = error
            if self._task is not None:
                self._task.cancel()


def telling_trouble(agent: Agent, notice: Callable[[str], None]) -> Registration:
    """Give notice when the agent waits for its store, and when it goes on, for as long as the block lasts."""

    def tell(_: Agent, error: Exception | None) -> None:
        notice("the store writes again" if error is None else f"waiting for the store: {error}")

    return agent.scope.on(TROUBLE, tell)


@contextmanager
def interruptible(agent: Agent, notice: Callable[[str], None], doing: str) -> Iterator[Callable[[], bool]]:
    """Cancel what the agent does on the first Ctrl-C; on the next, or a SIGTERM, cancel this very task.

    Give what tells whether the first one came. `doing` is the beginning of what is said then.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    asked = False

    def interrupt() -> None:
        nonlocal asked
        if asked or not agent.running:
            task.cancel()
            return
        asked = True
        notice(f"{doing}; Ctrl-C again to quit")
        agent.cancel()

    handled = [*_handle(loop, signal.SIGINT, interrupt), *_handle(loop, signal.SIGTERM, task.cancel)]
    try:
        yield lambda: asked
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def _handle(loop: asyncio.AbstractEventLoop, number: int, handler: Callable[[], object]) -> Iterator[int]:
    """Handle a signal in the event loop, where the system lets us."""
    try:
        loop.add_signal_handler(number, handler)
    except (NotImplementedError, ValueError, RuntimeError):
        return
    yield number
