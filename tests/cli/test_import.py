"""`everlog import` takes over logs of another tool, and says what they became."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.interop.claude_code.test_reading import TURN, record
from tests.interop.dsh.samples import call, closed, file, opened, user
from tests.interop.foreign import lines


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.jsonl"
    path.write_bytes(file(closed(user(2)), cwd=str(tmp_path)))
    return path


def test_a_log_that_breaks_no_rule_becomes_a_session_that_goes_on(cli: Cli, sound: Path) -> None:
    made = cli("import", str(sound), "--json").json
    assert (made["kind"], made["format"], made["violations"]) == ("session", "dsh", [])
    before = cli("show", made["id"], "--view", "messages", "--json").json
    done = cli("resume", made["id"], "go on", "--model", cli.script("- Unused.\n- On it.\n- On.\n- On."))
    assert done.code == 0, done
    after = cli("show", made["id"], "--view", "messages", "--json").json
    assert after[0]["role"] == "system"  # our own prompt, which the imported log did not have
    assert after[1 : 1 + len(before)] == before


def test_another_becomes_a_recording_and_is_listed_as_one(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(file(opened(call("nobody-asked")), cwd=str(tmp_path)))
    done = cli("import", str(path))
    assert done.code == 0, done
    assert "can only be looked at" in done.out
    assert cli("sessions", "--json").json[0]["recording"] is True
    assert "recording" in cli("sessions").out
    refused = cli("resume", "--last", "go on", "--model", cli.script("- No."))
    assert refused.code == 1
    assert "Traceback" not in refused.err
    assert cli("show", "--last").code == 0


def test_a_second_import_of_the_same_session_is_refused(cli: Cli, sound: Path) -> None:
    assert cli("import", str(sound)).code == 0
    refused = cli("import", str(sound))
    assert (refused.code, refused.err.count("\n")) == (1, 1)


@pytest.mark.parametrize(("content", "word"), [(None, "No such file"), (b"not a log at all", "dsh")])
def test_what_is_no_log_is_refused_in_one_line(cli: Cli, tmp_path: Path, content: bytes | None, word: str) -> None:
    path = tmp_path / "it"
    if content is not None:
        path.write_bytes(content)
    refused = cli("import", str(path))
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert word in refused.err
    assert cli("sessions", "--json").json == []


def test_a_log_of_another_form_is_a_recording_whose_counts_are_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*TURN, record("weather", "7", "6")))
    done = cli("import", str(path))
    assert done.code == 0, done
    assert "everlog continue s-1" in done.out
    assert "1 record weather (of a kind that is not known)" in done.out
    assert cli("sessions", "--json").json[0]["recording"] is True
    assert "There is a.py." in cli("show", "s-1").out


def test_continue_starts_a_session_from_a_recording_and_works_on_the_prompt(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*TURN))
    made = cli("import", str(path), "--json").json
    assert (made["kind"], made["format"]) == ("recording", "claude-code")
    script = cli.script("- Unused.\n- Unused.\n- I see a.py.")
    done = cli("continue", "s-1", "what is there?", "--model", script, "--output", "json")
    assert done.code == 0, done
    assert done.json["text"] == "I see a.py."
    lineage = cli("show", done.json["session"], "--view", "lineage", "--json").json
    assert (lineage["parent"], lineage["origin"]) == ("s-1", "continue")
    assert "from s-1" in cli("continue", "s-1").out
    assert cli("continue", "s-2").code == 1


def test_a_continue_that_cannot_begin_leaves_no_session(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*TURN))
    cli("import", str(path))
    done = cli("continue", "s-1", "go on")
    assert done.code == 2, done
    assert "has no key" in done.err
    assert [found["id"] for found in cli("sessions", "--json").json] == ["s-1"]


def test_continue_is_configured_by_the_folder_that_the_work_is_in(cli: Cli, tmp_path: Path) -> None:
    path, folder = tmp_path / "session.jsonl", tmp_path / "elsewhere"
    path.write_bytes(lines(*TURN))
    cli("import", str(path))
    folder.mkdir()
    (folder / "everlog.toml").write_text("not TOML")
    script = cli.script("- Unused.\n- Unused.\n- No.")
    told = ("continue", "s-1", "go on", "--model", script, "--cwd", str(folder))
    done = cli(*told, env={"EVERLOG_CONFIG": ""})
    assert done.code == 2, done
    assert "everlog.toml:1: is not TOML" in done.err


def test_a_recording_that_is_to_be_resumed_says_what_goes_on_from_it(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*TURN))
    cli("import", str(path))
    done = cli("resume", "s-1", "go on", "--model", cli.script("- No."))
    assert done.code == 1, done
    assert "everlog continue s-1" in done.err


def test_a_file_of_no_known_form_is_named_with_the_forms_that_are_read(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("- milk\n")
    done = cli("import", str(path))
    assert done.code == 1, done
    assert "notes.txt has none of the forms" in done.err
    assert "Claude Code (claude-code)" in done.err
