"""`everlog import` takes over logs of another tool, and says what they became."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.interop.dsh.samples import call, closed, file, opened, user


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.jsonl"
    path.write_bytes(file(closed(user(2))))
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
    path.write_bytes(file(opened(call("nobody-asked"))))
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
