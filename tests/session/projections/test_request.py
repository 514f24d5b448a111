"""The request of every attempt is had from the log alone, exactly as it was."""

from __future__ import annotations

import pytest
from tests.session.stories import Story, plain_turn

from everlog.session import Event, Recording, Session
from everlog.session.projections.request import Requests
from everlog.session.request import Request


def texts(request: Request | None) -> list[str]:
    assert request is not None
    return [message.text or "result" for message in request.messages]


def requests(session: Session | Recording) -> Requests:
    found: Requests = session.project("request")
    return found


def test_a_request_is_the_surface_and_the_header_at_its_sending() -> None:
    story = Story()
    story.turn(), story.step()
    story.system("be brief")
    story.prompt("hello")
    header = story.header("big")
    sent = story.sent()
    story.answer("hi")
    found = requests(story.session)[1, 1, 1]
    assert (found.seq, found.sent_seq, found.header_seq) == (sent.seq, sent.seq, header.seq)
    assert texts(found.request) == ["be brief", "hello"]
    assert found.request is not None
    assert (found.request.provider, found.request.model) == ("p", "big")
    assert [tool["name"] for tool in found.request.tools] == ["read"]
    assert found.sent is not None
    assert found.sent.adapter == "a"


def test_every_attempt_has_its_own_with_the_header_between_them() -> None:
    story = Story()
    story.turn(), story.step()
    story.prompt("hello")
    story.header("big")
    story.sent(1), story.fail(1), story.retry(1)
    story.header("small", reason="change")
    story.sent(2), story.answer("hi")
    found = requests(story.session)
    assert list(found) == [(1, 1, 1), (1, 1, 2)]
    assert [r.request.model for r in found.values() if r.request] == ["big", "small"]


def test_it_stays_what_it_was_when_the_view_is_rewritten_later() -> None:
    story = Story()
    plain_turn(story, "first", "one")
    plain_turn(story, "second", "two")
    first, last = story.session.surface.nodes[0], story.session.surface.nodes[-1]
    before = {key: found.request for key, found in requests(story.session).items()}
    story.compact(first, last)
    plain_turn(story, "third", "three")
    after = requests(story.session)
    assert {key: after[key].request for key in before} == before
    assert texts(after[1, 1, 1].request) == ["first"]
    assert texts(after[2, 1, 1].request) == ["first", "one", "second"]
    assert texts(after[3, 1, 1].request) == ["summary", "third"]


def test_a_pruned_result_is_pruned_in_later_requests_only() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    story.answer(calls=["c1"]), story.call("c1")
    result = story.result("c1", "long " * 10)
    story.end_step(), story.step(), story.sent(), story.answer("a"), story.end_step(), story.step()
    story.prune(result.seq), story.sent()
    found = requests(story.session)

    def shown(key: tuple[int, int, int]) -> str:
        request = found[key].request
        assert request is not None
        block = request.messages[2].result
        assert block is not None
        return str(block.content[0].value()["text"])

    assert shown((1, 2, 1)) == "long " * 10
    assert shown((1, 3, 1)) == "cut"


def test_after_a_resume_turns_go_on_and_requests_too() -> None:
    story = Story()
    plain_turn(story)
    session = Session.create(story.session.header)
    for event in story.session.events:
        session.append_json(event.type, event.data.value(), event.surface_op, event.source_event_seqs)  # type: ignore
    session.append_json("session/end-seed", {})
    resumed = Story(session)
    resumed.turn(), resumed.step(), resumed.prompt("more")
    resumed.header("other", reason="resume")
    resumed.sent()
    found = requests(session)
    assert texts(found[2, 1, 1].request) == ["hello", "hi", "more"]
    assert found.last is not None
    assert found.last.key == (2, 1, 1)


def without_sent(story: Story) -> Recording:
    """The log as another program would have written it: no request/sent, no own seqs of them."""
    session = Session.create(story.session.header)
    moved: dict[int, int] = {}
    for event in story.session.events:
        if event.type == "request/sent":
            continue
        sources = None if event.source_event_seqs is None else [moved[seq] for seq in event.source_event_seqs]
        new = session.append_json(event.type, event.data.value(), event.surface_op, sources)  # type: ignore[union-attr]
        moved[event.seq] = new.seq
    return Recording(session.header, session.events)


@pytest.mark.parametrize("sign", ["chunk", "answer", "fail", "retry"])
def test_an_imported_attempt_stands_just_before_its_first_sign(sign: str) -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("hello"), story.header()
    story.sent(1)
    if sign == "chunk":
        story.chunk("h")
    if sign == "fail":
        story.fail(1)
    if sign in ("fail", "retry"):
        story.retry(1), story.sent(2)
    story.answer("hi")
    log = without_sent(story)
    first = next(e for e in log.events if e.type.startswith(("assistant/", "llm/")))
    found = requests(log)
    assert found[1, 1, 1].seq == first.seq - 1
    assert found[1, 1, 1].sent_seq is None
    assert found[1, 1, 1].sent is None
    assert [texts(r.request) for r in found.values()] == [["hello"]] * (2 if sign in ("fail", "retry") else 1)


def test_a_foreign_system_prompt_is_taken_from_the_header() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("hello")
    header = {"config": {"provider": "p", "model": "m"}, "system": "be brief"}
    story.session.append_json("request/header", {"header": header, "reason": "initial"})
    story.answer("hi")
    request = requests(story.session)[1, 1, 1].request
    assert texts(request) == ["be brief", "hello"]
    assert request is not None
    assert request.messages[0].role == "system"


def test_a_log_without_a_header_has_attempts_without_requests() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("hello"), story.answer("hi")
    assert requests(story.session)[1, 1, 1].request is None


def test_side_requests_stand_on_the_surface_or_on_nothing() -> None:
    story = Story()
    plain_turn(story)
    story.side("s1", "summarise", purpose="summary")
    story.side("s2", "name it", prefix="none")
    first, last = story.session.surface.nodes[0], story.session.surface.nodes[-1]
    story.compact(first, last)
    sides = requests(story.session).sides
    assert list(sides) == ["s1", "s2"]
    assert texts(sides["s1"].request) == ["hello", "hi", "summarise"]
    assert texts(sides["s2"].request) == ["name it"]
    assert sides["s1"].sent.purpose == "summary"
    assert sides["s2"].request.model == "small"


def test_messages_of_a_side_request_keep_their_own_bytes() -> None:
    odd = '{"id":"x", "role":"user",  "content":[{"type":"vendor/shape","n":1.50}],"source":{"kind":"else"}}'
    header = '{"config":{"provider":"p","model":"m"}}'
    data = (
        f'{{"id":"s","purpose":"title","prefix":"none","header":{header},"messages":[{odd}, 5],'
        '"adapter":"a","adapterVersion":"1","sha256":"","bytes":0}'
    )
    from everlog.session import CORE

    event = Event(0, "request/side", 0, data.encode(), kind=CORE["request/side"])
    request = requests(Recording(Session.create().header, [event])).sides["s"].request
    assert [message.to_json() for message in request.messages] == [odd.encode()]


def test_an_earlier_view_does_not_see_later_requests() -> None:
    story = Story()
    plain_turn(story)
    before = requests(story.session)
    plain_turn(story)
    assert list(before) == [(1, 1, 1)]
    assert (2, 1, 1) not in before
    assert (2, 1, 1) in requests(story.session)
    with pytest.raises(KeyError):
        before[9, 9, 9]
