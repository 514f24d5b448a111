"""Ten real packages: an agent turns one release into the next through `edit`, one call for each hunk, to the byte."""

import difflib
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.sdist import download, unpacked

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.script import scripted
from everlog.session.payloads import ToolResultEvent
from everlog.tools.textfile import TextFile, read_text

PACKAGES = {
    "adal": ("1.2.4", "1.2.5"),  # byte order marks, CRLF
    "colorama": ("0.4.4", "0.4.5"),
    "docopt": ("0.6.1", "0.6.2"),
    "html2text": ("2019.8.11", "2019.9.26"),
    "prettytable": ("0.7.1", "0.7.2"),
    "pymsgbox": ("1.0.8", "1.0.9"),  # CRLF
    "pyperclip": ("1.8.0", "1.8.1"),  # CRLF that becomes LF, or the other way round
    "six": ("1.15.0", "1.16.0"),
    "toml": ("0.10.1", "0.10.2"),
    "xlrd": ("1.1.0", "1.2.0"),  # cp1252, declared
}

Call = dict[str, Any]


@pytest.fixture(scope="session")
def releases() -> None:
    download((name, old) for name, (old, _) in PACKAGES.items())
    download((name, new) for name, (_, new) in PACKAGES.items())


def use(name: str, /, **arguments: Any) -> Call:
    return {"call": {"name": name, "arguments": arguments}}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def stands_once(text: str, old: str, new: str) -> bool:
    """Whether `edit` can tell what is meant: to the letter with carriage returns, else however lines end."""
    literal = "\r" in old or "\r" in new
    return (text.count(old) if literal else plain(text).count(plain(old))) == 1


def hunks(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Give the replacements that lead from one text to another, each with as many lines around as it takes."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal":
            continue
        done, rest = "".join(new[:j1]), old[i1:]
        around = 0
        while True:
            above = new[max(0, j1 - around) : j1]  # above, the text is new already
            below = rest[i2 - i1 : i2 - i1 + around]
            was, becomes = "".join([*above, *old[i1:i2], *below]), "".join([*above, *new[j1:j2], *below])
            if was and stands_once(done + "".join(rest), was, becomes):
                break
            around += 1
            assert around <= len(old) + len(new)
        yield was, becomes


def calls_for(path: str, before: TextFile, after: TextFile) -> list[Call]:
    if not before.text:
        return [use("edit", file_path=path, old_string="", new_string=after.text)]
    return [
        use("edit", file_path=path, old_string=was, new_string=becomes)
        for was, becomes in hunks(before.text, after.text)
    ]


def script(before: Path, after: Path) -> tuple[list[list[Call]], dict[str, TextFile]]:
    """Give the answers of a model that knows both releases, and what is edited."""
    old, new = contents(before), contents(after)
    answers: list[list[Call]] = []
    edited: dict[str, TextFile] = {}
    for path in sorted({*old, *new}):
        if old.get(path) == new.get(path):
            continue
        if path not in new:
            answers.append([use("bash", command=shlex.join(["rm", path]))])
            continue
        then, now = read_text(old.get(path, b"")), read_text(new[path])
        if now is None:  # no text: an agent copies it
            answers.append([use("bash", command=shlex.join(["install", "-D", "-m644", str(after / path), path]))])
        elif path not in old or then is None:
            answers.append([use("write", file_path=path, content=now.text)])
        else:
            answers.append([use("read", file_path=path), *calls_for(path, then, now)])
            edited[path] = then
    return answers, edited


async def turned(folder: Path, answers: list[list[Call]]) -> list[ToolResultEvent]:
    """Let an agent work through the answers in a folder; give the results."""
    config = Config.parse("[permissions]\nmode = 'full'\n[limits]\nsteps = 1000\n")
    async with Harness(config, "memory:", [scripted({"it": [*answers, "done"]})]) as harness:
        agent = await harness.agents.create("script/it", cwd=folder)
        agent.followup("Turn this release into the next.")
        await agent.when_idle()
        return [event.data for event in agent.session.events if isinstance(event.data, ToolResultEvent)]


@pytest.mark.slow
@pytest.mark.usefixtures("releases")
@pytest.mark.parametrize("name", PACKAGES)
async def test_an_agent_turns_a_release_into_the_next_to_the_byte(name: str, tmp_path: Path) -> None:
    before, after = PACKAGES[name]
    old, new = unpacked(name, before, tmp_path / "old"), unpacked(name, after, tmp_path / "new")
    work = tmp_path / "work"
    shutil.copytree(old, work)
    answers, edited = script(old, new)
    results = await turned(work, answers)
    assert [result.message.to_json() for result in results if result.error is not None] == []
    assert len(results) == sum(map(len, answers))
    assert edited
    assert contents(work) == contents(new)


@pytest.mark.slow
@pytest.mark.usefixtures("releases")
def test_line_endings_encodings_and_marks_are_among_them(tmp_path: Path) -> None:
    files: list[TextFile] = []
    for name, (before, after) in PACKAGES.items():
        old, new = unpacked(name, before, tmp_path / "old"), unpacked(name, after, tmp_path / "new")
        files += script(old, new)[1].values()
    assert any("\r\n" in file.text for file in files)
    assert any(file.mark for file in files)
    assert any(file.encoding != "utf-8" for file in files)
