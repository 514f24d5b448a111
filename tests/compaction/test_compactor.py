"""When something is shortened, what, by whom, and what becomes of it when that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.compaction.test_plan import LONG, meter, step_with_calls, working
from tests.session.stories import Story, plain_turn

from everlog.compaction.budget import CompactionSettings, Shares
from everlog.compaction.compactor import Policy
from everlog.compaction.seam import (
    Assignment,
    CompactionFailed,
    NothingToCompact,
    Occasion,
    Relief,
    Summariser,
    Summary,
    Trigger,
)
from everlog.kernel import Scope
from everlog.llm.script import script_route
from everlog.llm.seam import ModelFailure, Route
from everlog.session import Session
from everlog.session.payloads import RequestHeader
from everlog.session.rules import check
from everlog.session.views import json_raw
from everlog.store.seam import LeaseLost


class Told(Summariser):
    """Gives these summaries, or raises, one after the other; the last one again and again."""

    def __init__(self, *outcomes: str | BaseException) -> None:
        self.outcomes = list(outcomes)
        self.assignments: list[Assignment] = []

    async def summarise(self, assignment: Assignment) -> Summary:
        self.assignments.append(assignment)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, BaseException):
            raise outcome
        return Summary(outcome, "told", "m")


OVERFLOW = ModelFailure("too long", "CONTEXT_OVERFLOW")
DOWN = ModelFailure("the provider is down", "SERVER")
NEVER = Told(AssertionError("nobody asks for this one"))


def a_route(window: int | None) -> Route:
    route = script_route([])
    return Route(route.adapter, "p", "m", {"provider": "p", "model": "m"}, context_window=window)


def occasion(session: Session, window: int | None, trigger: Trigger = "window", **more: Any) -> Occasion:
    route = a_route(window)
    return Occasion(session=session, scope=Scope("agent"), route=route, header=route.header(), trigger=trigger, **more)


async def room(
    session: Session,
    window: int | None,
    same: Summariser,
    reader: Summariser = NEVER,
    trigger: Trigger = "window",
    settings: CompactionSettings | None = None,
) -> Relief | None:
    policy = Policy(settings or CompactionSettings(), same, reader)
    return await policy.make_room(occasion(session, window, trigger))


def chatter(turns: int = 12, words: int = 1_200) -> Session:
    """A conversation of nothing but words; the last prompt is still to be answered."""
    story = Story()
    for number in range(turns):
        plain_turn(story, f"question {number} " + "word " * words, f"answer {number} " + "word " * words)
    story.turn()
    story.step()
    story.prompt("and now?")
    return story.session


def filled_to(share: float) -> Callable[[Session], int]:
    """Give the window that a session fills to this share."""
    return lambda session: int(meter(session).total / share)


def authors(session: Session) -> list[str]:
    return [e.data["provider"] for e in session.events if e.type == "compaction/summary"]  # type: ignore[index, call-overload]


def errors(session: Session) -> list[str]:
    ends = [e.data["error"] for e in session.events if e.type == "compaction/end" and "error" in e.data]  # type: ignore[index, call-overload, operator]
    return [error["code"] for error in ends]


async def test_nothing_happens_below_the_limit_or_where_the_window_is_not_known() -> None:
    session = chatter()
    events = session.next_seq
    assert await room(session, filled_to(0.79)(session), NEVER) is None
    assert await room(session, None, NEVER) is None
    off = CompactionSettings(automatic=False)
    assert await room(session, filled_to(0.9)(session), NEVER, settings=off) is None
    assert session.next_seq == events


async def test_above_the_limit_the_old_is_summarised_and_the_recent_and_the_prompt_stay() -> None:
    session = chatter()
    before, said = meter(session).total, [message.text for message in session.messages()]
    told = Told("they talked")
    relief = await room(session, filled_to(0.81)(session), told)
    assert relief is not None
    assert (relief.before, relief.after, relief.pruned) == (before, meter(session).total, 0)
    assert relief.after < before / 2
    now = [message.text for message in session.messages()]
    assert now[0].endswith("they talked")
    assert now[1:] == said[relief.summarised :]
    assert now[-1] == "and now?"
    [assignment] = told.assignments
    assert assignment.keeps == len(now) - 1
    assert check(session) == []


async def test_long_old_results_are_pruned_first_and_nobody_is_asked_when_that_is_enough() -> None:
    session = working(8, LONG).session
    relief = await room(session, filled_to(0.81)(session), NEVER)
    assert relief is not None
    assert relief.pruned > 0
    assert relief.summarised == 0
    assert "compaction/start" not in [event.type for event in session.events]
    assert check(session) == []


async def test_when_pruning_is_not_enough_nothing_is_pruned_so_that_the_summary_request_finds_the_cache() -> None:
    story = Story()
    for _ in range(10):
        plain_turn(story, "word " * 900, "word " * 900)
    story.turn()
    step_with_calls(story, "long", output=LONG)
    for _ in range(3):
        step_with_calls(story, f"c{story.session.next_seq}", output="word " * 900)
    session = story.session
    relief = await room(session, filled_to(0.81)(session), Told("they talked"))
    assert relief is not None
    assert (relief.pruned, relief.summarised > 0) == (0, True)


@pytest.mark.parametrize("failure", [DOWN, CompactionFailed("no"), RuntimeError("a bug")])
async def test_a_failed_summary_changes_nothing_and_is_not_tried_again_at_once(failure: Exception) -> None:
    session = chatter()
    window = filled_to(0.81)(session)
    before = [message.text for message in session.messages()]
    told = Told(failure, "they talked")
    policy = Policy(CompactionSettings(), told, NEVER)
    assert await policy.make_room(occasion(session, window)) is None
    assert [message.text for message in session.messages()] == before
    assert await policy.make_room(occasion(session, window)) is None
    assert len(told.assignments) == 1
    session.append_json(
        "user/message",
        {
            "id": "x",
            "role": "user",
            "content": [{"type": "text", "text": "word " * (window // 15)}],
            "source": {"kind": "user"},
        },
        "append",
    )
    assert await policy.make_room(occasion(session, window)) is not None
    assert len(told.assignments) == 2


async def test_when_the_next_request_would_not_fit_the_template_takes_the_models_place() -> None:
    session = chatter()
    relief = await room(session, filled_to(0.99)(session), NEVER, reader=Told(DOWN))
    assert relief is not None
    assert errors(session) == ["SERVER"]
    assert authors(session) == ["template"]
    assert "question 0" in session.messages()[0].text
    assert check(session) == []


async def test_a_summary_request_that_is_too_long_itself_is_made_of_the_text_and_at_last_of_the_template() -> None:
    session = chatter()
    relief = await room(session, filled_to(0.81)(session), Told(OVERFLOW), Told("from the text"))
    assert relief is not None
    assert errors(session) == ["CONTEXT_OVERFLOW"]
    assert authors(session) == ["told"]
    session = chatter()
    await room(session, filled_to(0.81)(session), Told(OVERFLOW), Told(OVERFLOW))
    assert errors(session) == ["CONTEXT_OVERFLOW"] * 2
    assert authors(session) == ["template"]


async def test_the_conversation_is_not_asked_when_its_window_cannot_hold_the_question() -> None:
    session = chatter()
    await room(session, filled_to(0.97)(session), NEVER, Told("from the text"))
    assert authors(session) == ["told"]


async def test_a_summary_that_is_not_smaller_leaves_the_view_as_it_was() -> None:
    session = chatter()
    generation = session.surface.generation
    assert await room(session, filled_to(0.81)(session), Told("word " * 40_000)) is None
    assert session.surface.generation == generation
    assert errors(session) == ["SUMMARY_NOT_SMALLER"]


async def test_after_an_overflow_something_goes_even_where_the_window_is_not_known() -> None:
    for window in (None, 1_000_000):
        session = chatter()
        before = meter(session).total
        relief = await room(session, window, NEVER, Told("from the text"), trigger="overflow")
        assert relief is not None
        assert relief.after < before * 0.8


async def test_results_that_fill_the_window_by_themselves_are_pruned_though_they_are_recent() -> None:
    story = working(1)
    story.step()
    story.sent()
    story.answer(calls=["x", "y"])
    for id in ("x", "y"):
        story.call(id)
        story.result(id, LONG * 3)
    story.end_step()
    session = story.session
    window = filled_to(1.4)(session)
    relief = await room(session, window, NEVER, Told("from the text"))
    assert relief is not None
    assert relief.pruned == 2
    assert meter(session).total <= window * 0.8
    results = [message.result for message in session.messages() if message.result is not None]
    assert all("left out" in result.content[0]["text"] for result in results[-2:])
    assert check(session) == []


async def test_a_prompt_that_fills_the_window_by_itself_is_left_to_the_provider() -> None:
    story = Story()
    story.turn()
    story.step()
    story.prompt("word " * 2_000)
    assert await room(story.session, 1_000, NEVER, NEVER) is None


@pytest.mark.parametrize("chosen", ["template", "other/model"])
async def test_who_writes_the_summary_is_configured(chosen: str) -> None:
    session = chatter()
    settings = CompactionSettings(summarise_with=chosen)
    await room(session, filled_to(0.81)(session), NEVER, Told("from the text"), settings=settings)
    assert authors(session) == [{"template": "template"}.get(chosen, "told")]


async def test_a_summariser_of_a_plugin_takes_the_place_of_the_configured_one() -> None:
    session = chatter()
    where = occasion(session, filled_to(0.81)(session))
    where.scope.provide(Summariser, Told("by a plugin"))
    assert await Policy(CompactionSettings(), NEVER, NEVER).make_room(where) is not None
    assert session.messages()[0].text.endswith("by a plugin")


async def test_a_person_may_ask_for_it_however_little_there_is_and_say_what_to_keep() -> None:
    session = chatter(4)
    told = Told("they talked")
    where = occasion(session, 1_000_000, "command", focus="the colours", command="cmd")
    relief = await Policy(CompactionSettings(automatic=False), told, NEVER).make_room(where)
    assert relief is not None
    assert told.assignments[0].occasion.focus == "the colours"
    assert session.events[-1].data["sourceCommandId"] == "cmd"  # type: ignore[index, call-overload]
    assert check(session) == []


async def test_a_person_is_told_why_nothing_was_shortened() -> None:
    session = chatter()
    with pytest.raises(CompactionFailed, match="the provider is down"):
        await Policy(CompactionSettings(), Told(DOWN), NEVER).make_room(occasion(session, None, "command"))
    with pytest.raises(NothingToCompact):
        await Policy(CompactionSettings(), NEVER, NEVER).make_room(occasion(chatter(1, 5), None, "command"))


async def test_cancelling_ends_the_compaction_and_passes_on() -> None:
    session = chatter()

    class Slow(Told):
        async def summarise(self, assignment: Assignment) -> Summary:
            await asyncio.sleep(60)
            raise AssertionError

    policy = Policy(CompactionSettings(), Slow("-"), NEVER)
    task = asyncio.create_task(policy.make_room(occasion(session, filled_to(0.81)(session))))
    await asyncio.sleep(0.01)
    assert session.ledger.compactions.open is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.ledger.compactions.open is None
    assert errors(session) == ["CANCELLED"]


async def test_a_lost_lease_is_nobodys_to_swallow() -> None:
    session = chatter()
    with pytest.raises(LeaseLost):
        await room(session, filled_to(0.81)(session), Told(LeaseLost(session.id, "another took it")))


async def test_one_that_is_open_already_is_waited_for_by_nobody() -> None:
    session = chatter()
    session.append_json("compaction/start", {"compactionId": "other", "turn": session.ledger.turns.open_turn})
    assert await room(session, filled_to(0.9)(session), NEVER) is None


def budgets(settings: CompactionSettings, names: Sequence[str]) -> list[tuple[int, int]]:
    header = RequestHeader(config_json=json_raw({"provider": "p", "model": "m"}))
    found = []
    for name in names:
        provider, _, model = name.partition("/")
        route = Route(script_route([]).adapter, provider, model, {}, context_window=100_000)
        budget = settings.budget(route, header)
        assert budget is not None
        found.append((budget.window, budget.limit))
    return found


def test_budgets_are_said_for_all_models_and_for_one() -> None:
    settings = CompactionSettings(
        compact_at=0.5, models={"p/m": Shares(window=50_000), "p/m-large": Shares(compact_at=0.9)}
    )
    assert budgets(settings, ["q/x", "p/m", "p/m-2025", "p/m-large-1", "p/mx"]) == [
        (100_000, 50_000),
        (50_000, 25_000),
        (50_000, 25_000),
        (100_000, 90_000),
        (100_000, 50_000),
    ]


def test_room_for_the_answer_is_kept_free() -> None:
    header = RequestHeader(config_json=json_raw({"provider": "p", "model": "m", "maxTokens": 40_000}))
    budget = CompactionSettings().budget(a_route(100_000), header)
    assert budget is not None
    assert budget.limit < 60_000
    greedy = RequestHeader(config_json=json_raw({"provider": "p", "model": "m", "maxTokens": 100_000}))
    budget = CompactionSettings().budget(a_route(100_000), greedy)
    assert budget is not None
    assert budget.aim < budget.limit == 47_500
