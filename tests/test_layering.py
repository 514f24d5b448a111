"""The rooms import only what the layering allows.

Lines of rooms, lowest first. A room imports rooms of lower lines. Rooms of one line may import each other's
`seam` module and nothing else of each other. The agent reaches stores and capabilities through services: of
those it may import the `seam` modules only.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import everlog

LINES = (
    {"errors", "lazily"},  # the one base class, and how faces hand out names
    {"kernel"},
    {"session"},
    {"store"},
    {"llm", "tools", "prompt", "compaction"},
    {"agent"},
    {"interop", "mcp", "declared"},  # what plugins declare is known wherever sessions are opened
    {"harness", "testing"},  # modules that put the rooms together, for programs and for tests
    {"sync", "cli"},
)
LINE_OF = {room: line for line, rooms in enumerate(LINES) for room in rooms}
SEAM_ONLY = {"agent": {"store", "llm", "tools", "prompt", "compaction"}}
FORBIDDEN = {
    "session": {"asyncio", "http", "io", "os", "pathlib", "shutil", "socket", "sqlite3", "subprocess"},
    "kernel": {"openai", "click", "rich"},
}

SOURCE = Path(everlog.__file__).parent


@dataclass(frozen=True)
class Import:
    """One import statement's module, in the file that holds it."""

    path: Path
    line: int
    module: str

    @property
    def importer(self) -> str:
        return self.path.relative_to(SOURCE).parts[0].removesuffix(".py")

    @property
    def target(self) -> str | None:
        """The room that is imported, or None for another package or the package's own face."""
        parts = self.module.split(".")
        return parts[1] if parts[0] == "everlog" and len(parts) > 1 and parts[1] in LINE_OF else None

    @property
    def is_seam(self) -> bool:
        return self.module.split(".")[2:3] == ["seam"]

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE.parent)}:{self.line} imports {self.module}"


def modules_named(node: ast.Import | ast.ImportFrom, path: Path) -> Iterator[str]:
    """The absolute names of the modules that a statement imports, submodules after `from` too."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    package = ["everlog", *path.relative_to(SOURCE).parent.parts]
    base = package[: len(package) - node.level + 1] if node.level else []
    module = ".".join([*base, *([node.module] if node.module else [])])
    for alias in node.names:
        is_module = (SOURCE.parent / (module + "." + alias.name).replace(".", "/")).with_suffix(".py").exists()
        names_room = module == "everlog" and alias.name in LINE_OF
        yield f"{module}.{alias.name}" if is_module or names_room else module


def imports_of(path: Path) -> Iterator[Import]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for module in modules_named(node, path):
                yield Import(path, node.lineno, module)


def objection(found: Import) -> str | None:
    """Why the layering forbids an import, or None."""
    importer, target = found.importer, found.target
    if importer == "__init__" or importer not in LINE_OF:
        return None  # the package's face names every room; unknown rooms are another test's matter
    if found.module.split(".")[0] in FORBIDDEN.get(importer, ()):
        return f"{importer} may not use {found.module}"
    if target is None or target == importer:
        return None
    if LINE_OF[target] > LINE_OF[importer]:
        return f"{target} stands above {importer}"
    same_line = LINE_OF[target] == LINE_OF[importer]
    if (same_line or target in SEAM_ONLY.get(importer, ())) and not found.is_seam:
        return f"of {target}, {importer} may import the seam only"
    return None


ROOM_FILES = sorted(SOURCE.rglob("*.py"))


def test_every_room_has_its_place_in_the_layering() -> None:
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in ROOM_FILES} - {"__init__"}
    assert rooms <= set(LINE_OF) | {"__main__"}


def test_rooms_import_only_what_the_layering_allows() -> None:
    found = [(item, objection(item)) for path in ROOM_FILES for item in imports_of(path)]
    assert [f"{item}: {why}" for item, why in found if why] == []


@pytest.mark.parametrize("room", sorted(path.parent.name for path in SOURCE.glob("*/__init__.py")))
def test_every_room_says_what_it_is_for(room: str) -> None:
    assert ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("importer", "module", "allowed"),
    [
        ("session/log.py", "everlog.kernel", True),
        ("kernel/hooks.py", "everlog.session", False),
        ("session/log.py", "everlog.cli.main", False),
        ("session/log.py", "asyncio", False),
        ("tools/registry.py", "everlog.llm.seam", True),
        ("tools/registry.py", "everlog.llm.openai", False),
        ("tools/registry.py", "everlog.llm", False),
        ("tools/registry.py", "everlog.tools.schema", True),
        ("agent/loop.py", "everlog.tools.seam", True),
        ("agent/loop.py", "everlog.tools.registry", False),
        ("agent/loop.py", "everlog.store.sqlite", False),
        ("agent/loop.py", "everlog.session.live", True),
        ("interop/dsh/read.py", "everlog.session", True),
        ("cli/run.py", "everlog.harness", True),
        ("sync.py", "everlog.cli.main", False),
    ],
)
def test_the_check_tells_allowed_from_forbidden(importer: str, module: str, allowed: bool) -> None:
    assert (objection(Import(SOURCE / importer, 1, module)) is None) == allowed
