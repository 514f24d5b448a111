"""glob and grep: what they find, with ripgrep and without."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.tools.workshop import Workshop, code, text

from everlog.tools import searching


@pytest.fixture(params=["ripgrep", "fallback"])
def grepper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "fallback":
        monkeypatch.setattr(searching, "ripgrep", lambda: None)
    elif searching.ripgrep() is None:
        pytest.skip("ripgrep is not installed")
    return str(request.param)


@pytest.fixture
def tree(workspace: Path) -> Path:
    files = {
        "a.py": "import os\nprint('needle')\n",
        "src/b.py": "needle = 1\n",
        "src/c.txt": "no\nneedle at the end of a line that is CRLF\r\n",
        "src/deep/d.py": "x\n",
        ".hidden/e.py": "needle\n",
        "build/out.py": "needle\n",
        "logs/keep.log": "needle\n",
        "logs/other.log": "needle\n",
        "latin.txt": "",
        ".gitignore": "build/\n*.log\n!keep.log\n",
        "src/.gitignore": "/deep\n",
    }
    for name, content in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    (workspace / "binary").write_bytes(b"needle\0needle\n")
    subprocess.run(["git", "init", "-q", workspace], check=True)
    (workspace / ".git" / "needle").write_text("needle\n")
    return workspace


async def test_grep_finds_lines_and_honours_gitignore(grepper: str, shop: Workshop, tree: Path) -> None:
    assert text(await shop.one("grep", pattern="needle")).splitlines() == [
        ".hidden/e.py:1:needle",
        "a.py:2:print('needle')",
        "logs/keep.log:1:needle",
        "src/b.py:1:needle = 1",
        "src/c.txt:2:needle at the end of a line that is CRLF",
    ]


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"glob": "*.py"}, [".hidden/e.py", "a.py", "src/b.py"]),
        ({"glob": "src/**/*.{py,txt}"}, ["src/b.py", "src/c.txt"]),
        ({"glob": "!*.py"}, ["logs/keep.log", "src/c.txt"]),
        ({"path": "src"}, ["src/b.py", "src/c.txt"]),
        ({"path": "src/b.py"}, ["src/b.py"]),
        ({"path": "build"}, ["build/out.py"]),
        ({"path": "build/out.py"}, ["build/out.py"]),
    ],
)
async def test_grep_looks_only_where_it_is_told_to(
    grepper: str, shop: Workshop, tree: Path, arguments: dict[str, str], paths: list[str]
) -> None:
    told = text(await shop.one("grep", pattern="needle", **arguments))
    assert [line.split(":")[0] for line in told.splitlines()] == paths


async def test_grep_says_when_nothing_matches_and_when_it_cannot(grepper: str, shop: Workshop, tree: Path) -> None:
    assert text(await shop.one("grep", pattern="absent")) == "No lines match."
    assert code(await shop.one("grep", pattern="(")) == "PATTERN_INVALID"
    assert code(await shop.one("grep", pattern="x", path="nowhere")) == "FILE_NOT_FOUND"


async def test_grep_is_bounded_in_matches_and_in_the_length_of_a_line(
    grepper: str, shop: Workshop, workspace: Path
) -> None:
    (workspace / "many").write_text("needle\n" * 10_000)
    told = text(await shop.one("grep", pattern="needle")).splitlines()
    assert len(told) == 501
    assert "there are more" in told[-1]
    (workspace / "many").write_text("needle" + "x" * 5_000_000 + "\n")
    assert len(text(await shop.one("grep", pattern="needle"))) < 1_000


async def test_grep_does_not_follow_links_nor_wait_at_pipes(
    grepper: str, shop: Workshop, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("needle\n")
    (workspace / "link").symlink_to(tmp_path / "outside")
    (workspace / "file").symlink_to(tmp_path / "outside" / "secret.txt")
    os.mkfifo(workspace / "pipe")
    (workspace / "odd\nname\x1b[31m.txt").write_text("needle\n")
    assert text(await shop.one("grep", pattern="needle")) == '"odd\\nname\\x1b[31m.txt":1:needle'


async def test_a_catastrophic_expression_can_be_stopped(
    shop: Workshop, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    monkeypatch.setattr(searching, "ripgrep", lambda: None)
    (workspace / "a.txt").write_text("a" * 60 + "b\n")
    working = asyncio.create_task(shop.one("grep", pattern="(a+)+c"))
    await asyncio.sleep(0.3)
    working.cancel()
    await asyncio.wait({working})
    assert [code(result) for result in shop.results()] == ["TOOL_CANCELLED"]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", [".hidden/e.py", "a.py", "src/b.py"]),
        ("src/*.py", ["src/b.py"]),
        ("**/*.{txt,log}", ["latin.txt", "logs/keep.log", "src/c.txt"]),
        ("./a.*", ["a.py"]),
        ("[ab].py", ["a.py", "src/b.py"]),
    ],
)
async def test_glob_lists_files_by_path(shop: Workshop, tree: Path, pattern: str, paths: list[str]) -> None:
    assert text(await shop.one("glob", pattern=pattern)).splitlines() == paths


def listed_by_git(tree: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "-C", tree, "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(listed.stdout.splitlines())


async def test_glob_agrees_with_git_on_what_is_ignored(shop: Workshop, tree: Path) -> None:
    assert text(await shop.one("glob", pattern="**")).splitlines() == listed_by_git(tree)


async def test_glob_refuses_to_leave_its_folder_and_says_when_nothing_matches(shop: Workshop, tree: Path) -> None:
    for pattern in ("../*", "/etc/*", "a/../../*", "~/*", "{a,b}" * 40):
        assert code(await shop.one("glob", pattern=pattern)) == "PATTERN_INVALID"
    assert text(await shop.one("glob", pattern="*.zig")) == "No files match."
    assert text(await shop.one("glob", pattern="*.py", path="src")) == "src/b.py"


def test_the_tests_run_with_ripgrep() -> None:
    assert searching.ripgrep() is not None or shutil.which("cargo") is None
