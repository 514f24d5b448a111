"""The header line, and the header of the session that comes from it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.interop.dsh.samples import HEADER, file

from everlog.interop import dsh
from everlog.session import FormatUnsupported


def test_what_our_header_has_a_name_for_is_there_and_the_rest_is_kept() -> None:
    log = dsh.read(file([], parentSession="parent", seedLength=3, origin="subagent", agentPreset="x", newer=[1]))
    header = log.header
    assert (header.id, header.created_at, header.cwd, header.format) == ("s", 1, "/w", 1)
    assert (header.parent_session, header.inherited_events, header.origin) == ("parent", 3, "subagent")
    kept: Any = header["dsh"]
    assert (kept["header"]["agentPreset"], kept["header"]["newer"]) == ("x", [1])


@pytest.mark.parametrize(
    "changes",
    [{"type": "sessions"}, {"version": "0"}, {"version": None}, {"version": False}, {"version": 0.5}, {"id": 5},
     {"createdAt": 1.5}, {"createdAt": -1}, {"createdAt": "1"}, {"createdAt": True}, {"delegationDepth": -1},
     {"origin": "x"}, {"origin": None}, {"agentPreset": 5}, {"cwd": 5}, {"cwd": None}, {"parentSession": None},
     {"seedLength": -1}, {"seedLength": 1.5}],
)  # fmt: skip
def test_a_header_of_another_form_is_damage(changes: dict[str, Any]) -> None:
    with pytest.raises(dsh.LogDamaged) as damaged:
        dsh.read(file([], **changes))
    assert damaged.value.seq is None


@pytest.mark.parametrize("key", ["type", "version", "id", "createdAt", "delegationDepth"])
def test_these_keys_are_needed(key: str) -> None:
    with pytest.raises(dsh.LogDamaged, match="not a session header"):
        dsh.read(file([], header={name: value for name, value in HEADER.items() if name != key}))


@pytest.mark.parametrize("key", ["cwd"])
def test_a_header_without_a_folder_is_taken(key: str) -> None:
    assert dsh.read(file([], header={name: value for name, value in HEADER.items() if name != key})).header.cwd is None


def test_a_version_written_as_a_float_is_the_same_version() -> None:
    assert dsh.read(file([]).replace(b'"version": 0', b'"version": 0.0')).version == 0


def test_the_error_of_a_version_that_is_not_read_names_it() -> None:
    with pytest.raises(FormatUnsupported, match="session s: format version 1"):
        dsh.read(file([], version=1))
