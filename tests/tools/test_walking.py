"""What .gitignore leaves out: the same as Git says, and the same with ripgrep as without it."""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlog.tools import searching
from everlog.tools.patterns import PatternList
from everlog.tools.searching import Search, search
from everlog.tools.walking import LeftOut, files_below

NAMES = st.sampled_from(["a", "b", "build", "x.log", "keep.log", "a b", "#c", "ä"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATTERNS = st.sampled_from(
    [
        "*.log",
        "!keep.log",
        "/a",
        "a/",
        "b/*",
        "**/x.log",
        "build/",
        "!build/",
        "a/**",
        "#c",
        r"\#c",
        "[ab]",
        "?",
        "a b",
        "ä",
        "a/b",
        "!a/b",
        "",
        " ",
        "a/\r",
    ]
)
IGNORES = st.lists(PATTERNS, max_size=5).map("\n".join)
TREES = st.tuples(
    st.sets(PATHS, max_size=12), st.dictionaries(st.sampled_from(["", "a/", "build/"]), IGNORES, max_size=3)
)

GLOBS = st.sampled_from(
    [None, "a", "*.log", "!a", "!*.log", "a/*", "**/a", "{a,b}", "*.{log,txt}", "?", "[ab]*", "/a", "!build/"]
)


def plant(root: Path, files: set[str], ignores: dict[str, str]) -> None:
    for name in sorted(files):
        path = root / name
        if not any(above.is_file() for above in path.parents) and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x\n")
    for folder, text in ignores.items():
        if (root / folder).is_dir():
            (root / folder / ".gitignore").write_bytes(text.encode())
    subprocess.run(["git", "init", "-q", root], check=True)


def according_to_git(root: Path) -> list[str]:
    command = [
        "git",
        "-C",
        root,
        "-c",
        "core.quotePath=off",
        "-c",
        "core.excludesFile=",
        "ls-files",
        "-z",
        "-o",
        "--exclude-standard",
    ]
    listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    return sorted(listed.split("\0")[:-1])


@given(TREES)
@settings(max_examples=40)
def test_it_is_what_git_says(tree: tuple[set[str], dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        plant(root, *tree)
        assert sorted(files_below(root)) == according_to_git(root)


@pytest.mark.skipif(searching.ripgrep() is None, reason="ripgrep is not installed")
@given(TREES, GLOBS)
@settings(max_examples=8)
def test_it_is_the_same_without_ripgrep(tree: tuple[set[str], dict[str, str]], glob: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        root = Path(folder).resolve()
        plant(root, *tree)
        wanted = Search("x", str(root), glob, 1_000, 500)
        with_it = asyncio.run(search(wanted))
        patch.setattr(searching, "ripgrep", lambda: None)
        assert asyncio.run(search(wanted)) == with_it


@pytest.mark.parametrize("program", [searching.ripgrep(), None])
@pytest.mark.parametrize("glob", ["a", "**/a", "*"])
async def test_a_glob_brings_back_nothing_that_is_ignored(
    program: str | None, glob: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, {"a", "b/a", "build/deep/a", "kept/a"}, {"": "/a\nbuild/", "b/": "[ab]"})
    monkeypatch.setattr(searching, "ripgrep", lambda: program)
    found = await search(Search("x", str(tmp_path), glob, 1_000, 500))
    assert [match.path for match in found] == ["kept/a"]


def test_a_rule_that_could_be_tried_in_countless_ways_takes_no_time(tmp_path: Path) -> None:
    plant(tmp_path, {"a" * 200}, {"": "*a" * 16 + "*b\n" + "a/**/" * 12 + "b\n"})
    (tmp_path.joinpath(*["a"] * 300)).mkdir(parents=True)
    (tmp_path.joinpath(*["a"] * 300, "c")).write_text("x\n")
    assert len(list(files_below(tmp_path))) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="paths this long")
def test_folders_deeper_than_the_interpreters_stack_are_walked(tmp_path: Path) -> None:
    folders = [tmp_path]
    for _ in range(1_500):
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    try:
        (folders[-1] / "x.log").write_text("x\n")
        assert list(files_below(tmp_path)) == ["d/" * 1_500 + "x.log"]
        assert not LeftOut(tmp_path)("d/" * 1_500 + "x.log")
    finally:
        (folders[-1] / "x.log").unlink()
        for folder in reversed(folders[1:]):  # what clears up after tests may not go as deep
            folder.rmdir()


def test_a_negated_class_fits_no_slash() -> None:
    assert not PatternList(["a[!b]c/"]).verdict("a/c", True)


async def test_searching_without_ripgrep_imports_nothing_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "ripgrep", lambda: None)
    (tmp_path / "everlog").mkdir()
    (tmp_path / "everlog" / "__init__.py").write_text("open('pwned', 'w')\n")
    (tmp_path / "re.py").write_text("open('pwned', 'w')\n")
    await search(Search("pwned", str(tmp_path), None, 10, 100))
    assert not (tmp_path / "pwned").exists()
