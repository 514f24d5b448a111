"""What is shortened is decided so that whatever is decided may be appended, and the recent past is left alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.logs import stories
from tests.session.stories import Story, plain_turn

from everlog.compaction.budget import Budget
from everlog.compaction.meter import PROJECTION, Meter
from everlog.compaction.plan import cut, prunes, recent_from
from everlog.compaction.transaction import prune
from everlog.session import Session
from everlog.session.rules import check

LONG = "a line of output\n" * 400


def meter(session: Session) -> Meter:
    found: Meter = session.project(PROJECTION)
    return found


def step_with_calls(story: Story, *ids: str, output: str = "done") -> None:
    story.step()
    story.sent()
    story.answer(calls=ids)
    for id in ids:
        story.call(id)
        story.result(id, output)
    story.end_step()


def working(steps: int = 6, output: str = "done") -> Story:
    """A turn of many steps, each with two calls; the last step is still to be answered."""
    story = Story()
    story.turn()
    story.step()
    story.system("be brief")
    story.prompt("do it")
    story.header()
    story.sent()
    story.answer("I will")
    story.end_step()
    for number in range(steps):
        step_with_calls(story, f"a{number}", f"b{number}", output=output)
    return story


@given(story=stories(), recent=st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_every_cut_may_land_and_parts_no_call_from_its_result(story: Story, recent: int) -> None:
    session = story.session
    found = cut(session, meter(session), recent)
    if found is None or session.ledger.compactions.open is not None:
        return
    story.compact(found.nodes[0], found.nodes[-1], id="cut")
    assert check(session) == []
    calls: set[str] = set()
    for message in session.messages():
        calls |= {call.id for call in message.calls}
        assert message.result is None or message.result.tool_call_id in calls


@given(story=stories(), recent=st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_no_cut_takes_the_system_prompt_or_what_the_model_has_not_answered(story: Story, recent: int) -> None:
    session = story.session
    found = cut(session, meter(session), recent)
    if found is None:
        return
    nodes = session.surface.nodes
    assert session.surface.system not in found.nodes
    after = [session.events[seq].type for seq in nodes[nodes.index(found.nodes[-1]) :]]
    assert "assistant/message" in after, "the model has had the last word on all of it"


def test_a_cut_leaves_about_the_recent_tokens_and_both_results_of_a_step() -> None:
    session = working(output="word " * 100).session
    found = cut(session, meter(session), 500)
    assert found is not None
    nodes = session.surface.nodes
    left = nodes[nodes.index(found.nodes[-1]) + 1 :]
    assert session.events[left[0]].type == "assistant/message"
    assert sum(meter(session).of(seq) for seq in left) >= 400
    assert found.tokens == sum(meter(session).of(seq) for seq in found.nodes)


def test_results_that_the_model_has_not_seen_yet_stay_even_when_nothing_recent_shall() -> None:
    session = working().session
    found = cut(session, meter(session), 0)
    assert found is not None
    left = session.surface.nodes[session.surface.nodes.index(found.nodes[-1]) + 1 :]
    assert [session.events[seq].type for seq in left] == ["assistant/message", "tool/result", "tool/result"]


def test_a_prompt_that_waits_for_its_answer_stays() -> None:
    story = Story()
    for number in range(4):
        plain_turn(story, f"question {number}")
    story.turn()
    story.step()
    story.prompt("the new one")
    found = cut(story.session, meter(story.session), 0)
    assert found is not None
    assert story.session.surface.nodes[-1] not in found.nodes
    assert len(found.nodes) == 8


def test_an_unanswered_call_and_an_approval_that_waits_stay_outside() -> None:
    story = working()
    story.step()
    story.sent()
    story.answer(calls=["waits"])
    story.call("waits")
    story.session.append_json("approval/asked", {"id": "ask", "toolName": "read", "callId": "waits"})
    found = cut(story.session, meter(story.session), 0)
    assert found is not None
    story.compact(found.nodes[0], found.nodes[-1])
    assert story.session.ledger.calls.pending == ["waits"]
    story.result("waits")
    assert check(story.session) == []


def test_there_is_nothing_to_cut_where_little_was_said() -> None:
    assert cut(Story().session, meter(Story().session), 0) is None
    story = Story()
    story.turn()
    story.step()
    story.system("be brief")
    story.prompt("do it")
    assert cut(story.session, meter(story.session), 0) is None


def test_old_results_lose_their_middle_until_the_aim_is_met_and_recent_ones_do_not() -> None:
    session = working(4, LONG).session
    total = meter(session).total
    budget = Budget(window=int(total / 0.85))
    found = prunes(session, meter(session), budget, budget.recent)
    assert 0 < len(found) < 8
    recent = set(meter(session).nodes[recent_from(meter(session), budget.recent) :])
    assert not recent & {each.seq for each in found}
    for each in found:
        prune(session, each)
    assert meter(session).total <= budget.aim
    assert meter(session).of(session.surface.nodes[4]) == found[0].left
    again = prunes(session, meter(session), budget, 0)
    assert not {each.seq for each in again} & set(session.surface.nodes[:6]), "once is enough"
    assert check(session) == []


def test_what_is_left_of_a_result_says_what_was_cut() -> None:
    session = working(2, LONG).session
    [first, *_] = prunes(session, meter(session), Budget(window=2_000), 0)
    assert first.text.startswith("a line of output\n")
    assert first.text.endswith("a line of output\n")
    assert "characters of this result are left out" in first.text
    assert first.left < first.tokens / 2


@pytest.mark.parametrize("output", ["short", "word " * 300])
def test_results_that_are_not_long_stay_whole(output: str) -> None:
    session = working(4, output).session
    assert prunes(session, meter(session), Budget(window=100), 0) == []
