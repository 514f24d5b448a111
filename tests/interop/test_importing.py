"""What another program kept becomes a session, or a recording when it breaks a rule."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.interop.claude_code.test_reading import TURN as CLAUDE_CODE
from tests.interop.codex.test_reading import TURN as CODEX
from tests.interop.dsh.samples import call, closed, file, opened, user
from tests.interop.dsh.vectors import cases, names, needed, session_bytes
from tests.interop.foreign import lines
from tests.interop.openhands.test_reading import SDK as OPENHANDS
from tests.session.stories import Story, plain_turn

from everlog import open_store, to_json
from everlog.interop.importing import NotAFile, detect, import_into, imported
from everlog.session import FormatUnsupported, RuleViolation
from everlog.store import RecordingOnly, SessionExists

SOUND = file(closed(user(2)))
BROKEN = file(opened(call("nobody-asked")))


def test_a_sound_log_is_a_session_that_goes_on() -> None:
    log = imported(SOUND)
    assert (log.format, log.is_session, log.header.origin, log.header.recording) == ("dsh", True, "import", None)
    session = log.session()
    assert [to_json(event) for event in session.events][:-1] == [to_json(event) for event in log.recording.events]
    plain_turn(Story(session))
    assert session.ledger.turns.last == 2


def test_a_log_that_breaks_a_rule_is_a_recording() -> None:
    log = imported(BROKEN)
    assert (log.is_session, log.header.origin, log.header.recording) == (False, "import", True)
    with pytest.raises(RuleViolation):
        log.session()


def test_the_header_keeps_who_and_where() -> None:
    log = imported(file([], origin="subagent", parentSession="parent"))
    assert (log.header.id, log.header.created_at, log.header.cwd, log.header.parent_session) == ("s", 1, "/w", "parent")


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"{}", b'{"type":"other"}\n', b'{"id":"x","createdAt":1,"format":1}\n', b"\0"]
)
def test_a_file_of_another_form_is_not_taken_for_one(data: bytes) -> None:
    assert detect(data) is None
    with pytest.raises(FormatUnsupported, match=r"forms that are read here: .*dsh.*claude-code"):
        imported(data)


def test_a_format_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(FormatUnsupported, match="elsewhere"):
        imported(SOUND, format="elsewhere")


FOREIGN = {"claude-code": lines(*CLAUDE_CODE), "codex": lines(*CODEX), "openhands": lines(*OPENHANDS)}


@pytest.mark.parametrize("form", FOREIGN)
def test_a_log_taken_for_another_form_is_refused_with_the_one_it_has(form: str) -> None:
    assert imported(FOREIGN[form], form).format == form
    for other in FOREIGN.keys() - {form}:
        with pytest.raises(FormatUnsupported, match=rf"nothing in the log .*{other}.*--from {form}"):
            imported(FOREIGN[form], other)


def test_a_file_of_no_form_is_refused_when_it_is_said_to_have_one(tmp_path: Path) -> None:
    path = tmp_path / "poem.txt"
    path.write_text("roses are red\n")
    with pytest.raises(FormatUnsupported, match=r"nothing in .*poem\.txt is a record of Codex .* no form read here"):
        imported(path, "codex")


async def test_a_second_import_says_where_the_first_is() -> None:
    async with open_store("memory:twice") as store:
        await import_into(store, SOUND)
        with pytest.raises(SessionExists, match="imported already, as session s: see `everlog show s`"):
            await import_into(store, SOUND)
        await store.delete("s")
        with pytest.raises(SessionExists, match=r"in the trash.*everlog delete s --undo"):
            await import_into(store, SOUND)


def test_files_are_told_by_what_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(SOUND)
    assert detect(path) == "dsh"
    assert imported(path).header.id == "s"


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices in the file system")
@pytest.mark.parametrize("format", [None, "dsh", "codex"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, format: str | None) -> None:
    os.mkfifo(tmp_path / "log.jsonl")
    for path in (tmp_path / "log.jsonl", Path(os.devnull)):
        with pytest.raises(NotAFile, match="neither a file nor a folder"):
            imported(path, format)


def test_compressed_files_are_told_too() -> None:
    zstandard = pytest.importorskip("zstandard", reason="the optional package zstandard is not installed")
    compressed = zstandard.ZstdCompressor().compress(SOUND)
    assert detect(compressed) == "dsh"
    assert imported(compressed).is_session


@pytest.mark.parametrize("url", ["memory:", "sqlite:"])
async def test_a_store_lists_what_was_imported_as_what_it_is(url: str, tmp_path: Path) -> None:
    async with open_store("memory:imports" if url == "memory:" else f"sqlite://{tmp_path}/s.db") as store:
        await import_into(store, SOUND)
        await import_into(store, file(opened(call("nobody-asked")), id="other"))
        assert {summary.id: summary.origin for summary in await store.list()} == {"s": "import", "other": "import"}
        async with await store.open("s", "write") as session:
            plain_turn(Story(session))
        with pytest.raises(RecordingOnly):
            await store.open("other", "write")
        assert [violation.seq for violation in (await store.open("other")).violations] == [2]
        with pytest.raises(SessionExists):
            await import_into(store, SOUND)


@needed
@pytest.mark.parametrize("name", cases(names(refused=False)))
def test_each_log_of_the_vectors_is_a_session_exactly_when_it_breaks_no_rule(name: str) -> None:
    log = imported(session_bytes(name))
    if not log.is_session:
        assert log.header.recording
        return
    story = Story(log.session())
    plain_turn(story)
    assert story.session.messages()[-1].text == "hi"


def test_a_record_goes_on_behind_a_carriage_return_in_bytes_as_in_a_file() -> None:
    line = b'{"type":"user","uuid":"a",\r"parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}\n'
    assert [message.text for message in imported(line).recording.messages()] == ["hi"]
