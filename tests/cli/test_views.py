"""Every view answers in both of its forms, at every seq, and lets nothing harmful through."""

from __future__ import annotations

import json
from importlib import import_module
from types import ModuleType

import pytest
from tests.cli.tales import eventful
from tests.session.stories import Story

from everlog import Session
from everlog.cli.output import short_time, write_json
from everlog.cli.views import VIEWS
from everlog.session.projection import names

SESSION = eventful()


def view(name: str) -> ModuleType:
    return import_module(f"everlog.cli.views.{name}")


def told(name: str, capsys: pytest.CaptureFixture[str], at: int | None = None) -> str:
    view(name).tell(SESSION, at)
    return capsys.readouterr().out


def test_there_is_a_view_for_every_projection_but_requests_which_have_a_command() -> None:
    assert set(VIEWS) == {*names(), "log"} - {"request"}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_answers_at_every_seq(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for at in [None, *range(SESSION.next_seq)]:
        write_json(view(name).value(SESSION, at))
        json.loads(capsys.readouterr().out)
        assert not set(told(name, capsys, at)) & set("\x00\x1b[2J\u202e") - set("[2J")


def test_the_transcript_marks_what_the_model_no_longer_sees(capsys: pytest.CaptureFixture[str]) -> None:
    text = told("transcript", capsys)
    assert "from here the model sees event" in text
    assert "› Mend the bug." in text
    assert "● read  x" in text
    assert "a␛[2J␀b\\u202ec" in text


def test_the_transcript_tells_a_failed_attempt_with_what_it_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Half an ans\n✗ it broke (SERVER)" in told("transcript", capsys)


def test_steps_tell_model_tools_calls_and_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    text = told("steps", capsys)
    assert "step 1.1  p/m  1 tool offered  2 attempts  called (SERVER)" in text
    assert "● read  answered" in text
    assert "step 2.1  p/m2" in text


def test_the_log_is_one_line_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told("log", capsys).splitlines()
    assert len(lines) == SESSION.next_seq
    assert [int(line.split()[0]) for line in lines] == list(range(SESSION.next_seq))


def test_the_log_as_json_gives_the_events_own_values(capsys: pytest.CaptureFixture[str]) -> None:
    write_json(view("log").value(SESSION, None))
    assert json.loads(capsys.readouterr().out) == [json.loads(event.to_json()) for event in SESSION.events]


def test_usage_keeps_cache_reads_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("usage", capsys).splitlines()[-1].split() == ["total", "107", "40", "0", "23", "0"]


@pytest.mark.parametrize(("name", "words"), [("inbox", "nothing waits"), ("todos", "no to-do list")])
def test_a_view_of_nothing_says_so(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    view(name).tell(Session.create(), None)
    assert capsys.readouterr().out == f"{words}\n"


def test_the_stream_tells_what_a_delta_holds_in_the_words_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    story = Story(Session.create())
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    story.chunk(records=[{"kind": "finish", "t0": 5_000, "reason": "stop"}])
    view("stream").tell(story.session, None)
    assert "finish  reason: stop\n" in capsys.readouterr().out


def test_the_header_tells_when_in_the_way_of_a_clock(capsys: pytest.CaptureFixture[str]) -> None:
    session = Session.create({"id": "s", "createdAt": 1_700_000_000_000})
    view("header").tell(session, None)
    assert f"createdAt: {short_time(1_700_000_000_000)}\n" in capsys.readouterr().out
