"""What a rule must do: refuse with its name and what it expects, leave no trace, and be listed in a recording."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.plain import own
from tests.session.stories import Story

from everlog.session import Recording, RuleViolation, read_event
from everlog.session.jsonvalue import encode


def refused(
    story: Story, type: str, data: Any, surface: Any = None, sources: list[int] | None = None
) -> tuple[str, str]:
    """Try to append, and give the rule that refuses it and what that expects."""
    session = story.session
    before = own(session)
    with pytest.raises(RuleViolation) as raised:
        session.append_json(type, data, surface, sources)
    assert own(session) == before
    violation = raised.value
    assert (violation.seq, violation.type) == (session.next_seq, type)
    assert str(violation) == f"{type}: seq {violation.seq} breaks {violation.rule}: {violation.expected}"
    assert (violation.rule, violation.expected) in listed(story, type, data, surface, sources)
    return violation.rule, violation.expected


def listed(story: Story, type: str, data: Any, surface: Any, sources: Any) -> list[tuple[str, str]]:
    """Give what a recording lists that holds the event nevertheless."""
    session = story.session
    row = {"seq": session.next_seq, "type": type, "time": 1, "data": data}
    row |= {} if surface is None else {"surfaceOp": surface}
    row |= {} if sources is None else {"sourceEventSeqs": sources}
    recording = Recording(session.header, [*session.events, read_event(encode(row))])
    return [(found.rule, found.expected) for found in recording.violations]


def in_step() -> Story:
    """A story inside its first step, with a prompt."""
    story = Story()
    story.turn(), story.step(), story.prompt("go")
    return story


def replace(start: int, end: int) -> dict[str, Any]:
    return {"op": "replace", "startSeq": start, "endSeq": end}


def message(role: str = "user", source: Any = None, *blocks: Any) -> dict[str, Any]:
    content = list(blocks) or [{"type": "text", "text": "x"}]
    return {"id": "m", "role": role, "content": content, "source": source or {"kind": "user"}}


def result(id: str, code: str | None = None, text: str = "done", turn: int = 1, step: int = 1) -> dict[str, Any]:
    """The data of a result, as a story writes it."""
    content = [{"type": "text", "text": text}]
    block = {"type": "tool-result", "toolCallId": id, "content": content, "isError": code is not None}
    data = {"turn": turn, "step": step, "message": message("user", {"kind": "tool", "callId": id}, block)}
    data["message"]["id"] = f"r{id}"  # type: ignore[index]
    return data if code is None else {**data, "error": {"name": "ToolFailedError", "code": code}}
