"""AGENTS.md: who is shown it, when again, and what it cannot do."""

import os
from pathlib import Path

import pytest
from tests.tools.workshop import Workshop

from everlog.session import Replace
from everlog.session.messages import Message, PluginSource, user_message
from everlog.tools import instructions
from everlog.tools.instructions import MAX_BYTES, due


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / ".git").mkdir()
    return workspace


def enter(shop: Workshop) -> list[str]:
    """Enter what is due, as the loop does; give the texts."""
    messages = due(shop.session)
    for message in messages:
        assert message.role == "user"
        shop.session.append(message, surface="append")
    return [message.text for message in messages]


def put(folder: Path, text: str, name: str = "AGENTS.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


async def test_they_come_from_the_root_down_to_the_workspace(workspace: Path) -> None:
    put(workspace, "ROOT")
    put(workspace / "a", "MIDDLE", "CLAUDE.md")
    put(workspace / "a" / "b", "HERE")
    put(workspace / "a" / "c", "ELSEWHERE")
    put(workspace.parent, "OUTSIDE")
    texts = enter(Workshop(workspace / "a" / "b"))
    assert [text.splitlines()[-1] for text in texts] == ["ROOT", "MIDDLE", "HERE"]
    assert "a/CLAUDE.md in this repository tells agents" in texts[1]


async def test_many_folders_without_a_file_cost_a_call_of_the_system_each_and_nothing_is_resolved(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace, "ROOT")
    shop = Workshop(workspace)
    for number in range(20):
        (workspace / f"f{number}").mkdir()
        (workspace / f"f{number}" / "a.py").write_text("x\n")
        await shop.one("read", file_path=f"f{number}/a.py")
    resolved, realpath = list[str](), os.path.realpath
    monkeypatch.setattr(
        instructions.os.path, "realpath", lambda path, **more: resolved.append(str(path)) or realpath(path, **more)
    )
    assert len(enter(shop)) == 1
    assert [path for path in resolved if path.endswith(".md")] == [str(workspace.resolve() / "AGENTS.md")]


async def test_two_files_that_say_the_same_are_shown_once(workspace: Path) -> None:
    put(workspace, "SAME")
    (workspace / "CLAUDE.md").symlink_to("AGENTS.md")
    assert len(enter(Workshop(workspace))) == 1


async def test_a_folder_that_is_worked_in_brings_its_own(workspace: Path) -> None:
    put(workspace / "deep" / "down", "DEEP")
    (workspace / "deep" / "down" / "a.py").write_text("x\n")
    shop = Workshop(workspace)
    assert enter(shop) == []
    await shop.one("read", file_path="deep/down/a.py")
    assert ["DEEP" in text for text in enter(shop)] == [True]


async def test_a_version_is_shown_once_and_a_new_one_when_it_comes(workspace: Path) -> None:
    path = put(workspace, "ONE")
    shop = Workshop(workspace)
    assert len(enter(shop)) == 1
    assert enter(shop) == []
    path.write_text("TWO")
    [text] = enter(shop)
    assert text == "AGENTS.md has changed. It replaces what you were shown before.\n\nTWO"
    path.unlink()
    assert enter(shop) == ["AGENTS.md is gone: what it said no longer holds."]
    assert enter(shop) == []
    sources = [e.data.source for e in shop.session.events if isinstance(e.data, Message)]
    assert all(isinstance(source, PluginSource) and source.plugin == "instructions" for source in sources)


async def test_what_a_compaction_took_from_view_is_shown_again(workspace: Path) -> None:
    put(workspace, "ONE")
    shop = Workshop(workspace)
    enter(shop)
    shop.session.append(user_message("summary"), surface=Replace(0, 0), sources=[0])
    assert len(enter(shop)) == 1


async def test_a_fork_and_a_reload_know_what_was_shown(workspace: Path) -> None:
    put(workspace, "ONE")
    shop = Workshop(workspace)
    enter(shop)
    assert due(shop.session.fork()) == []


async def test_a_link_that_leads_out_is_not_followed(workspace: Path) -> None:
    secret = workspace.parent / "id_rsa"
    secret.write_text("PRIVATE")
    (workspace / "AGENTS.md").symlink_to(secret)
    (workspace / "sub").symlink_to(workspace.parent)
    assert enter(Workshop(workspace)) == []


async def test_nothing_hangs_and_nothing_grows_without_bound(workspace: Path) -> None:
    os.mkfifo(workspace / "CLAUDE.md")
    with open(workspace / "AGENTS.md", "wb") as file:
        file.write(b"first line \xff\n")
        file.truncate(1_000_000_000)
    [text] = enter(Workshop(workspace))
    assert "first line \ufffd" in text
    assert text.endswith("[... the rest is cut ...]")
    assert len(text) < MAX_BYTES + 1_000


async def test_secrets_do_not_come_in_this_way(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    put(workspace, "key: sk-secret-secret")
    [text] = enter(Workshop(workspace))
    assert "sk-secret-secret" not in text
