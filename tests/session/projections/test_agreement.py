"""Every projection is one fold: live, cold, as of a seq and through its JSON it says the same, about any log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.logs import CONTENT, Walk, foreign_logs, stories
from tests.session.plain import own, plain
from tests.session.stories import Story

from everlog.session import Event, Log, Recording, Session
from everlog.session.projection import Projection, named, names
from everlog.session.repair import closers
from everlog.session.restoring import restore, save, take_in_stored
from everlog.session.rules import check


def cold(log: Log, fold: Projection[Any, Any], count: int) -> Any:
    """The view of the first events, from a log that holds no others."""
    state = fold.init()
    for event in log.events[:count]:
        fold.apply(state, event)
    return plain(fold.view(state, Recording(log.header, log.events[:count])))


@given(story=stories())
@settings(max_examples=60)
def test_live_cold_and_as_of_a_seq_agree_at_every_cut(story: Story) -> None:
    log = story.session
    live = Session(log.header)
    for event in log.events:
        live._take_in(event, None if event.kind is None else event.kind.check(event.data_json))
        for name in names():
            at_the_time = plain(live.project(name))
            if event.seq % 5 == 0 or event.seq + 1 == log.next_seq:
                as_of = plain(log.project(name, at=event.seq))
                assert at_the_time == cold(log, named(name), event.seq + 1) == as_of, name


@given(log=stories().map(lambda story: story.session) | foreign_logs(), cut=st.integers(0, 60))
@settings(max_examples=100)
def test_a_state_is_plain_json_and_goes_on_from_it(log: Log, cut: int) -> None:
    for name in names():
        fold = named(name)
        state = fold.init()
        for event in log.events[:cut]:
            fold.apply(state, event)
        restored = json.loads(json.dumps(state))
        assert restored == state, name
        for event in log.events[cut:]:
            fold.apply(restored, event)
        assert plain(fold.view(restored, log)) == plain(log.project(name)), name


@given(story=stories())
@settings(max_examples=60)
def test_a_state_holds_no_content(story: Story) -> None:
    for name in names():
        fold = named(name)
        state = fold.init()
        for event in story.session.events:
            fold.apply(state, event)
        assert CONTENT not in json.dumps(state, ensure_ascii=False), name


class Held:
    """A source of events that holds them all."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events

    def read(self, start: int, stop: int) -> Iterator[Event]:
        return iter(self.events[start:stop])

    def pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        return (self.events[seq] for seq in seqs)


@given(log=stories().map(lambda story: story.session) | foreign_logs(), cut=st.integers(0, 60), folded=st.booleans())
@settings(max_examples=150)
def test_a_log_that_is_opened_from_what_was_saved_of_it_says_the_same(log: Log, cut: int, folded: bool) -> None:
    before = Recording(log.header, log.events[:cut])
    for name in names() if folded else ():
        plain(before.project(name))
    opened = Recording(log.header, ())
    assert restore(opened, save(before), before.next_seq, Held(log.events))
    take_in_stored(opened, log.events[cut:], Held(log.events))
    whole, middle = Recording(log.header, log.events), before.next_seq // 2 - 1
    assert own(opened) == own(whole)
    for name in names():
        assert plain(opened.project(name)) == plain(whole.project(name))
        assert plain(opened.project(name, at=middle)) == plain(whole.project(name, at=middle))


@given(log=foreign_logs())
@settings(max_examples=300)
def test_no_log_makes_a_projection_raise(log: Recording) -> None:
    for name in names():
        plain(log.project(name))
        plain(log.project(name, at=log.next_seq // 2 - 1))
    assert plain(log.messages()) == plain(log.project("messages"))
    assert log.surface.nodes == log.project("surface").nodes
    assert plain(log.request_header()) == plain(log.project("header"))
    assert plain(log.request_context()) == plain(log.project("context"))
    assert check(log) == list(log.violations) or len(check(log)) == len(log.violations)


@given(log=foreign_logs())
@settings(max_examples=100)
def test_looking_changes_nothing(log: Recording) -> None:
    before = [event.to_json() for event in log.events]
    first = {name: plain(log.project(name)) for name in names()}
    assert {name: plain(log.project(name)) for name in names()} == first
    closers(log)
    assert [event.to_json() for event in log.events] == before


@given(story=stories(), more=stories())
@settings(max_examples=40)
def test_views_given_before_stay_as_they_were(story: Story, more: Story) -> None:
    session = story.session
    views = {name: session.project(name) for name in names()}
    before = {name: plain(view) for name, view in views.items()}
    for move in range(20):
        Walk(story, lambda count, move=move: (move * 7 + more.session.next_seq) % count).go()  # type: ignore[misc]
    assert {name: plain(view) for name, view in views.items()} == before
