"""What is left open is closed: every call answered once, in order."""

from tests.session.stories import Story

from everlog import Session
from everlog.agent.closing import close_turn
from everlog.session.payloads import Reason, ToolResultEvent


def test_every_call_that_is_left_gets_an_answer() -> None:
    session = Session.create()
    story = Story(session)
    story.turn()
    story.step()
    story.answer("", calls=["c1", "c2", "c3"])
    story.call("c1")
    story.call("c2")
    close_turn(session, Reason(kind="completed"))
    results = [event.data for event in session.events if isinstance(event.data, ToolResultEvent)]
    codes = [
        (result.message.result and result.message.result.tool_call_id, result.error and result.error.code)
        for result in results
    ]
    unknown, unstarted = "TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"
    assert codes == [("c1", unknown), ("c2", unknown), ("c3", unstarted)]
    assert not session.ledger.turns.is_open
