"""What came from a version 0 file can be written back as one: equal events at equal seqs."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.interop.dsh.samples import answer, call, chunk, closed, file, opened, result, turn_end, user
from tests.interop.dsh.test_fuzz import foreign
from tests.interop.dsh.vectors import cases, load, names, recording, rows, session_bytes
from tests.session.stories import Story, plain_turn

from everlog import to_json
from everlog.errors import EverlogError
from everlog.interop import dsh
from everlog.interop.dsh.admission import admitted
from everlog.interop.dsh.prefix import accepted
from everlog.interop.importing import imported
from everlog.session import FormatUnsupported, Session


@pytest.mark.parametrize("name", cases(names(refused=False)))
def test_a_log_of_the_vectors_comes_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / "back.jsonl"
    dsh.write(recording(name), path)
    theirs_file, back = session_bytes(name), path.read_bytes()
    assert json.loads(theirs_file.partition(b"\n")[0]) == json.loads(back.partition(b"\n")[0])
    migrated = set(load(f"expected/{name}")["migrated"])
    assert len(rows(theirs_file)) == len(rows(back))
    for theirs, ours in zip(rows(theirs_file), rows(back), strict=True):
        assert theirs["seq"] in migrated or theirs == ours
    assert [to_json(event) for event in dsh.read(back).events] == [to_json(event) for event in recording(name).events]


SPECIAL: list[Any] = [
    {"type": "agent/inbox/spliced", "data": {"target": "next-step", "start": 0, "inserted": [user()["data"]]}},
    {"type": "agent/inbox/spliced", "data": {"target": "next-turn", "start": 0, "inserted": [user()["data"]], "x": 1}},
    {
        "type": "agent/inbox/spliced",
        "data": {"target": "next-step", "start": 0, "removedCount": 1, "inserted": [], "outcome": "canceled"},
    },
    {"type": "agent/inbox/spliced", "data": {"odd": True}},
    {"type": "agent/inbox/spliced", "data": None},
    chunk(type="text-delta", index=0, text="a"),
    chunk(type="text-delta", index=0, text="a", extra={"b": 1}),
    chunk(type="text-delta", index=0, text=5),
    chunk(type="text-delta", index=0, text="a", kind="x"),
    chunk(type="tool-call-delta", index=1, id="c", argumentsDelta="{"),
    chunk(type="tool-call-delta", index=1, id="c", name="read", argumentsDelta=""),
    chunk(type="finish", reason={"kind": "stop"}, replayState={"k": [1]}),
    chunk(type="text", text="named like a record"),
    chunk(type="foreign", chunk=1),
    chunk(type="newer", t0=3),
    chunk(index=1),
    {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": "odd"}},
    {"type": "llm/retry", "data": {"turn": 1, "step": 1, "retry": 1, "failure": {"message": "m", "code": "C"}}},
    {
        "type": "request/header",
        "data": {
            "header": {"config": {"provider": "p", "model": "m"}, "system": "", "tools": [], "messagePrefix": ["x"]},
            "reason": "initial",
        },
    },
    {"type": "compaction/start", "data": {"compactionId": "c", "turn": 1}},
    {
        "type": "compaction/summary",
        "data": {
            "compactionId": "c",
            "summary": [],
            "shadowedTokenCount": 3,
            "shadowedRange": {"start": 1, "end": 2},
            "shadowedSeqs": [1, 2],
        },
    },
    {"type": "compaction/prune", "data": {"shadowedRange": 5, "shadowedSeqs": [1]}},
    {"type": "hook/result", "data": {"turn": 1}},
    {"type": "hook/result", "data": {"turn": 1}, "ignorable": True},
    {"type": "vendor/note", "data": [1, 2.5, None], "ignorable": True},
    {"type": "todo/write", "data": False, "ignorable": True},
    {"type": "todo/write", "data": {"todos": []}, "trace": {"by": "a newer writer"}},
]


@pytest.mark.parametrize("row", SPECIAL, ids=lambda row: json.dumps(row)[:70])
def test_a_single_event_comes_back_as_it_was(row: Any, tmp_path: Path) -> None:
    data = file(opened(row))
    dsh.write(dsh.read(data), tmp_path / "back.jsonl")
    assert rows((tmp_path / "back.jsonl").read_bytes()) == rows(data)


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(foreign(), max_size=12))
def test_whatever_can_be_read_comes_back_in_its_present_form(given_rows: list[Any]) -> None:
    data = file(given_rows)
    try:
        log = dsh.read(data)
    except EverlogError:
        return
    with TemporaryDirectory() as folder:
        dsh.write(log, Path(folder) / "back.jsonl")
        back = (Path(folder) / "back.jsonl").read_bytes()
    assert rows(back) == admitted(accepted(data))


def test_replaces_come_back_with_their_own_names(tmp_path: Path) -> None:
    replaced = {**user(1, "new"), "surfaceOp": {"op": "replace", "start": 0, "end": 0}, "sourceEventSeqs": [0]}
    data = file([user(), replaced])
    dsh.write(dsh.read(data), tmp_path / "back.jsonl")
    assert rows((tmp_path / "back.jsonl").read_bytes()) == rows(data)


def test_an_imported_session_comes_back_too(tmp_path: Path) -> None:
    data = file(closed(user(), answer("c"), call("c"), result("c")))
    session = imported(data).session()
    dsh.write(session, tmp_path / "back.jsonl")
    assert rows((tmp_path / "back.jsonl").read_bytes())[:-1] == rows(data)


def test_a_session_of_our_own_is_refused(tmp_path: Path) -> None:
    story = Story()
    plain_turn(story)
    with pytest.raises(FormatUnsupported, match="did not come from one"):
        dsh.write(story.session, tmp_path / "out.jsonl")
    with pytest.raises(FormatUnsupported):
        dsh.write(Session.create(), tmp_path / "out.jsonl")


def test_a_session_that_went_on_here_is_refused_at_the_first_event_that_has_no_form_there(tmp_path: Path) -> None:
    story = Story(imported(file(closed(user()))).session())
    plain_turn(story)
    with pytest.raises(FormatUnsupported, match="request/sent"):
        dsh.write(story.session, tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_inbox_entry_that_wakes_otherwise_is_refused(tmp_path: Path) -> None:
    story = Story(
        imported(file([*opened(user()), {"type": "step/end", "data": {"turn": 1, "step": 1}}, turn_end()])).session()
    )
    story.queue("q", "next-step", wakes=True)
    with pytest.raises(FormatUnsupported, match="wakes"):
        dsh.write(story.session, tmp_path / "out.jsonl")


def test_the_file_is_private_and_replaces_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")
    dsh.write(dsh.read(file([])), path)
    assert (path.stat().st_mode & 0o777, len(list(tmp_path.iterdir()))) == (0o600, 1)
    assert dsh.read(path).id == "s"
