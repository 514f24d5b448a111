"""What a session cost is folded from its log: tokens, times, money; failures and side requests count too."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.session.logs import foreign_logs, stories
from tests.session.stories import Story

from everlog.llm.catalogue import Price
from everlog.llm.spending import Asked, Spending, Sums
from everlog.session import Log, Recording
from everlog.session.event import read_event
from everlog.session.payloads import ApprovalAsked, ApprovalDecided, Usage

PRICES = {("p", "m"): Price(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5)}


def spending(log: Log, since: int = 0) -> Spending:
    return Spending(log, lambda provider, model: PRICES.get((provider, model)), since)


def told() -> Story:
    """A turn with a failed attempt, an answer with a call that was asked about, and another model's step."""
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    story.fail(usage=Usage(input_tokens=1_000)), story.retry()
    (
        story.sent(2),
        story.chunk("I look", attempt=2, records=[{"kind": "text", "index": 0, "t0": 1_130, "dt": [], "parts": ["I"]}]),
    )
    story.answer(calls=["c"], usage=Usage(input_tokens=400, cache_read_tokens=600, output_tokens=100))
    story.call("c")
    story.session.append(ApprovalAsked(id="ask", tool_name="read", call_id="c"))
    story.session.append(ApprovalDecided(id="ask", outcome="allowed-once"))
    story.result("c"), story.end_step()
    story.step(), story.header("free", "change"), story.sent()
    story.answer("done", usage=Usage(input_tokens=5, output_tokens=5)), story.end_step(), story.end_turn()
    return story


def test_each_request_has_its_model_tokens_times_and_price() -> None:
    found = spending(told().session)
    failed, answered, free = found.asked
    assert (failed.model, failed.attempt, failed.failed, failed.cost) == ("p/m", 1, True, 0.002)
    assert (answered.attempt, answered.failed) == (2, False)
    assert answered.cost == pytest.approx((400 * 2 + 600 * 0.2 + 100 * 10) / 1_000_000)
    assert answered.first_ms is not None
    assert answered.writing_ms is not None
    assert (free.model, free.cost, free.first_ms) == ("p/free", None, None)
    [tool] = found.tools
    assert (tool.name, tool.waited_ms, tool.ran_ms) == ("read", 10, 20)


def test_sums_keep_what_is_known_apart_from_what_is_not() -> None:
    found = spending(told().session)
    sums = Sums(found.asked, found.tools)
    assert (sums.requests, sums.retries, sums.failed, sums.unpriced) == (3, 1, 1, 1)
    assert sums.input == 2_005
    assert sums.hit_rate == pytest.approx(600 / 2_005)
    assert sums.cost == pytest.approx(0.002 + 0.00192)
    assert (sums.calls, sums.tool_ms, sums.waited_ms) == (1, 20, 10)
    nothing = Sums([], [])
    assert (nothing.cost, nothing.hit_rate, nothing.first_ms, nothing.tokens_per_second) == (None, None, None, None)


def test_side_requests_count_with_what_they_led_to() -> None:
    story = told()
    session, nodes = story.session, story.session.surface.nodes

    def ask(id: str, compaction: str | None) -> None:
        story.side(id, "summarise", purpose="summary" if compaction else "title")

    start = {"compactionId": "c0", "turn": None, "trigger": "command"}
    session.append_json("compaction/start", start)
    session.append_json("request/side", side("first try", "c0"))
    session.append_json("request/side", side("second try", "c0"))
    error = {"message": "not smaller", "code": "X", "usage": {"inputTokens": 70, "outputTokens": 7}}
    session.append_json("compaction/end", {"compactionId": "c0", "turn": None, "error": error})
    ask("title", None)
    source = {"kind": "model", "request": "title", "usage": {"inputTokens": 9}}
    session.append_json("session/title", {"title": "t", "source": source})
    ask("lost", None)
    found = [one for one in spending(session).asked if one.purpose != "step"]
    assert [(one.purpose, one.failed, one.usage.input_tokens if one.usage else None) for one in found] == [
        ("summary", True, None),
        ("summary", True, 70),
        ("title", False, 9),
        ("title", True, None),
    ]
    assert found[1].model == "p/small"
    story.compact(nodes[0], nodes[-1], id="c1")
    total = session.project("usage").total
    sums = Sums(spending(session).asked, [])
    assert sums.input == total.input_tokens + total.cache_read_tokens - 7, "the summary that no side request tells of"


def side(id: str, compaction: str) -> dict[str, object]:
    header = {"config": {"provider": "p", "model": "small"}}
    body = {"adapter": "a", "adapterVersion": "1", "sha256": "0" * 64, "bytes": 2}
    return {
        "id": id,
        "purpose": "summary",
        "compactionId": compaction,
        "prefix": "none",
        "header": header,
        "messages": [],
        **body,
    }


def test_a_fork_counts_what_is_its_own() -> None:
    parent = told().session
    story = Story(parent.fork())
    inherited = story.session.header.inherited_events or 0
    assert len(spending(story.session).asked) == 3
    assert spending(story.session, inherited).asked == []
    story.turn(), story.step(), story.header(reason="resume"), story.sent()
    story.answer("hi", usage=Usage(input_tokens=11))
    [own] = spending(story.session, inherited).asked
    assert (own.turn, own.usage) == (2, Usage(input_tokens=11))


def test_a_configuration_that_no_value_can_hold_is_of_an_unknown_model() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    story.answer("hi", usage=Usage(input_tokens=11)), story.end_step(), story.end_turn()
    wild = [event.to_json().replace(b'"config":{', b'"config":{"top":1e400,') for event in story.session.events]
    assert any(b"1e400" in event for event in wild)
    [asked] = spending(Recording(story.session.header, map(read_event, wild))).asked
    assert (asked.model, asked.usage) == ("", Usage(input_tokens=11))


@given(log=stories().map(lambda story: story.session) | foreign_logs())
@settings(max_examples=80, deadline=None)
def test_any_log_has_its_sums(log: Log) -> None:
    found = spending(log)
    sums = Sums(found.asked, found.tools)
    assert sums.requests == len(found.asked)
    assert all(isinstance(one, Asked) for one in found.asked)
    assert min(sums.fresh, sums.output, sums.tool_ms, sums.waited_ms) >= 0
