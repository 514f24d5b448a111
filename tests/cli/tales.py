"""Sessions for tests of what faces tell: one that holds a bit of everything."""

from __future__ import annotations

from tests.session.stories import Story

from everlog.session import Session
from everlog.session.payloads import ApprovalAsked, SessionTitle, Todo, TodoWrite, Usage

HOSTILE = "a\x1b[2J\x00b\u202ec"
"""Text that would clear the screen, and reorder the line."""


def eventful() -> Session:
    """Tell a session with a failed attempt, calls of every outcome, a compaction, and an open turn at its end."""
    story = Story()
    story.turn(), story.step(), story.system("Be brief."), story.prompt("Mend the bug.")
    story.header(), story.context(), story.sent(), story.chunk("Half an ans"), story.fail(), story.retry()
    story.sent(attempt=2), story.chunk("I will look.", attempt=2)
    usage = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=40)
    story.answer("I will look.", calls=["c1", "c2"], reasoning="Where is it?", usage=usage)
    story.call("c1"), story.call("c2"), story.settle("c2", HOSTILE)
    story.result("c1", "one\ntwo\nthree"), story.result("c2", HOSTILE), story.end_step()
    (
        story.step(),
        story.developer("A tool was added."),
        story.header("m2", "change"),
        story.sent(),
        story.answer(HOSTILE),
    )
    story.session.append(TodoWrite(todos=(Todo(content="mend it", status="in_progress"),)))
    story.end_step(), story.end_turn()
    story.session.append(SessionTitle(title=f"A bug {HOSTILE}"))
    nodes = story.session.surface.nodes
    story.compact(nodes[1], nodes[4])
    story.queue("later")
    story.turn(), story.step(), story.prompt("And now?"), story.header("m2", "series"), story.sent()
    story.answer("Once more.", calls=["c3"]), story.call("c3")
    story.session.append(ApprovalAsked(id="ask", tool_name="read", call_id="c3", reason="outside the folder"))
    return story.session
