"""A turn is told as it happens, and nothing harmful reaches the terminal."""

from __future__ import annotations

import io

from rich.console import Console
from tests.cli.tales import eventful
from tests.session.stories import Story, plain_turn

from everlog.cli.terminal import Terminal
from everlog.session import Session


def told(session: Session) -> str:
    written = io.StringIO()
    terminal = Terminal(Console(file=written, highlight=False, markup=False, emoji=False, width=60))
    for event in session.events:
        terminal.tell(event)
    return written.getvalue()


def test_chunks_are_written_as_they_come_and_the_answer_that_they_built_is_not_repeated() -> None:
    story = Story()
    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
    chunks = [story.chunk("Hel").seq, story.chunk("lo.\nBye.").seq]
    story.answer("Hello.\nBye.", sources=chunks), story.end_step(), story.end_turn()
    assert told(story.session) == "› go\nHello.\nBye.\n"


def test_an_answer_without_chunks_is_written_whole() -> None:
    story = Story()
    plain_turn(story, "hello", "hi [bold]there[/bold] :smile:")
    assert told(story.session) == "› hello\nhi [bold]there[/bold] :smile:\n"


def test_a_long_line_is_left_to_the_terminal_to_wrap() -> None:
    story = Story()
    plain_turn(story, "hello", "word " * 40 + "end")
    assert len(told(story.session).splitlines()) == 2


def test_parallel_calls_say_whose_result_comes() -> None:
    text = told(eventful())
    assert "● read  x\n● read  x\n" in text
    assert "  ⎿ read  x\n    one\n    two\n    three\n  ⎿ read  x\n    a␛" in text


def test_a_failed_attempt_is_told_with_its_retry() -> None:
    text = told(eventful())
    assert "Half an ans\n↻ attempt 1 failed: it broke (SERVER); again in 0.0 s\n" in text


def test_nothing_harmful_is_written() -> None:
    assert not set(told(eventful())) & {"\x00", "\x1b", "\u202e"}
