"""Versions 2, 3 and 4, by samples that were written for this test and not taken from that program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.interop.dsh.samples import file

from everlog.interop import dsh
from everlog.session import FormatUnsupported

SAMPLES = Path(__file__).parent / "later"


def sample(version: int) -> Any:
    return dsh.read(SAMPLES / f"v{version}.jsonl")


def texts(log: Any) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in log.messages()]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_sound_log_of_a_later_version_breaks_no_rule(version: int) -> None:
    log = sample(version)
    assert log.violations == ()
    assert log.version == version
    assert log.committed_bytes == (SAMPLES / f"v{version}.jsonl").stat().st_size


@pytest.mark.parametrize("version", [1, 5, 99])
def test_other_versions_are_refused(version: int) -> None:
    with pytest.raises(FormatUnsupported, match=f"version {version} is not supported"):
        dsh.read(file([], version=version))


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_later_version_is_not_written(version: int, tmp_path: Path) -> None:
    with pytest.raises(FormatUnsupported, match="did not come from one"):
        dsh.write(sample(version), tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_embedded_streams_replay_with_their_times() -> None:
    stream = [
        (moment.attempt, moment.delta.kind, moment.delta.time, moment.delta.text)
        for moment in sample(2).project("stream")
    ]
    assert stream == [
        (1, "block-start", 1006, ""),
        (1, "text", 1007, "I "),
        (1, "text", 1009, "will"),
        (2, "reasoning", 1020, "Read"),
        (2, "reasoning", 1023, " it."),
        (2, "tool-call", 1025, '{"path":'),
        (2, "tool-call", 1026, '"a.txt"'),
        (2, "tool-call", 1027, "}"),
        (2, "usage", 1039, ""),
        (2, "finish", 1039, ""),
    ]


def test_attempts_are_numbered_by_the_retries_before_them() -> None:
    numbered = [(event.type, event.data.attempt) for event in sample(2).events if event.seq in (5, 6)]
    assert numbered == [("assistant/attempt", 1), ("llm/retry", 1)]


def test_up_to_version_2_the_request_takes_its_system_prompt_from_the_header() -> None:
    log = sample(2)
    assert [role for role, _ in texts(log)] == ["user", "assistant", "user"]
    asked = log.project("request")[1, 1, 2].request
    assert [(message.role, message.text) for message in asked.messages][:2] == [
        ("system", "Be brief."),
        ("user", "What is in a.txt?"),
    ]


def test_since_version_3_the_system_prompt_is_the_first_node() -> None:
    log = sample(3)
    assert texts(log) == [
        ("system", "Be briefer."),
        ("user", "Hello?"),
        ("user", "Newer context."),
        ("assistant", "Hi."),
    ]
    assert log.surface.nodes == (8, 3, 7, 6)


def test_a_plan_mode_keeps_its_name_and_may_be_skipped() -> None:
    event = sample(3).events[9]
    assert (event.type, event.ignorable, event.data) == ("plan/mode", True, {"active": True})


def test_since_version_4_a_developer_message_keeps_the_header_that_it_names() -> None:
    event = sample(4).events[5]
    assert (event.type, event.data["headerSeq"]) == ("developer/message", 4)
    assert ("developer", "The tool read is gone.") in texts(sample(4))


def test_the_names_of_the_two_ends_of_a_replace_belong_to_the_version() -> None:
    data = (SAMPLES / "v3.jsonl").read_bytes().replace(b'"startSeq":4,"endSeq":4', b'"start":4,"end":4')
    with pytest.raises(dsh.LogDamaged, match="event 7"):
        dsh.read(data)
