"""The check before a provider: what a request costs when 10,000 messages went before it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.core import message, session_of, text
from benchmarks.figure import Figure
from everlog import Session
from everlog.agent.boundary import Boundary
from everlog.session.request import Request

MESSAGES = 10_000


def figures() -> Iterator[Figure]:
    """Give the figures of the check."""
    session = session_of(MESSAGES)
    turn = session.ledger.turns.last + 1
    session.append_json("turn/start", {"turn": turn})
    session.append_json("step/start", {"turn": turn, "step": 1})
    session.append_json("request/header", {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"})
    boundary = Boundary(session)
    boundary.check(boundary.derive())
    untouched = _per_request(session, boundary, lambda request: request)
    yield Figure("check of a request that no hook touched", untouched * 1e3, "ms", "<= 1", f"{MESSAGES:,} messages")
    listed = _per_request(session, boundary, lambda request: Request(request.header, list(request.messages)))
    yield Figure("check of a request whose list a hook copied", listed * 1e3, "ms", "", f"{MESSAGES:,} messages")


def _per_request(session: Session, boundary: Boundary, hook: Callable[[Request], Request]) -> float:
    """Give the median time of deriving and checking the request after one more message, in seconds."""
    taken = []
    for _ in range(101):
        session.append_json("user/message", message("user", [text(200)], {"kind": "user"}), "append")
        start = time.perf_counter()
        request = boundary.derive()
        middle = time.perf_counter()
        handed_on = hook(request)
        late = time.perf_counter()
        boundary.check(handed_on)
        taken.append(middle - start + time.perf_counter() - late)
    return statistics.median(taken)
