"""What the documentation says is true: its code runs, its TOML parses, its links lead somewhere."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import everlog.kernel
from everlog.cli.table import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
RUNS = [
    "docs/agents.md",
    "docs/embedding.md",
    "docs/importing.md",
    "docs/plugins.md",
    "docs/projections.md",
    "docs/providers.md",
    "docs/stores.md",
    "docs/tools.md",
]
"""Pages whose Python blocks run, top to bottom, in one namespace. On the others they are parsed."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a language, each with the line (from 1) on which its code begins."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text[: found.start(1)].count("\n") + 1, found[1]


@pytest.mark.parametrize("name", RUNS)
async def test_the_code_of_a_page_runs(name: str) -> None:
    namespace: dict[str, object] = {"__name__": "docs"}
    for line, code in blocks(ROOT / name, "python"):
        source = "\n" * (line - 1) + code  # so that a traceback names the page's own lines
        compiled = compile(source, str(ROOT / name), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(compiled, namespace)
        if inspect.isawaitable(result):
            await result


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_code_of_every_page_can_be_read(page: Path) -> None:
    for line, code in blocks(page, "python"):
        compile("\n" * (line - 1) + code, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for _, code in blocks(page, "toml"):
        tomllib.loads(code)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"`[^`]*`", "", prose))
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_the_plugin_guide_names_every_public_name_of_the_kernel() -> None:
    guide = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
    assert [name for name in everlog.kernel.__all__ if not re.search(rf"\b{name}\b", guide)] == []


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_command_is_in_the_readme(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert [command for command in COMMANDS if f"`everlog {command}" not in text] == []
