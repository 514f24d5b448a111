"""A recorded session answers in a model's place, and the tools that it calls run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.script import scripted
from everlog.llm.seam import Models
from everlog.session.live import Session
from everlog.session.messages import Text
from everlog.session.payloads import TurnEnd
from everlog.session.records import deltas_of

FULL = Config.parse('[permissions]\nmode = "full"')

ANSWERS = {
    "once": [
        [
            {"reasoning": "Where is it?"},
            {"text": "I write it down."},
            {"call": {"name": "write", "arguments": {"file_path": "note.txt", "content": "hello"}}},
        ],
        "It is written.",
    ]
}


async def turn(harness: Harness, model: str, cwd: Path) -> Session:
    agent = await harness.agents.create(model, cwd=cwd)
    agent.followup("write hello to note.txt")
    await agent.when_idle()
    return agent.session


async def test_the_answers_are_recorded_and_the_tools_are_live(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    async with Harness(FULL, store="memory:", plugins=[scripted(ANSWERS)]) as harness:
        recorded = await turn(harness, "script/once", first)
        route = harness.kernel[Models].resolve(f"rerun/{recorded.id}")
        again = await turn(harness, f"rerun/{recorded.id}", second)
    assert (second / "note.txt").read_text() == "hello"
    said = [[m.content for m in log.messages() if m.role == "assistant"] for log in (recorded, again)]
    assert said[0] == said[1]
    assert said[1][1] == (Text(text="It is written."),)
    pieces = [[(d.kind, d.text) for e in log.events for d in deltas_of(e)] for log in (recorded, again)]
    assert pieces[0] == pieces[1]
    assert route.notice is not None
    assert "RUN LIVE" in route.notice


@pytest.mark.parametrize(("model", "words"), [("rerun/nobody", "cannot be rerun"), ("rerun/{id}", "has 2 answers")])
async def test_a_session_that_is_missing_or_at_its_end_is_one_clear_failure(
    tmp_path: Path, model: str, words: str
) -> None:
    async with Harness(FULL, store="memory:", plugins=[scripted(ANSWERS)]) as harness:
        recorded = await turn(harness, "script/once", tmp_path)
        agent = await harness.agents.create(model.format(id=recorded.id), cwd=tmp_path)
        for _ in range(2):
            agent.followup("go")
            await agent.when_idle()
        end = agent.session.events[-1].data
    assert isinstance(end, TurnEnd)
    assert end.reason.error is not None
    assert words in end.reason.error.message
