"""The faces are pinned: what each lists, what it gives, and what type checkers see are the same names."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import everlog
import everlog.kernel
import everlog.session
import everlog.store

FACES = [everlog, everlog.kernel, everlog.session, everlog.store]


def names_for_type_checkers(face: ModuleType) -> set[str]:
    tree = ast.parse(Path(face.__file__ or "").read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("face", FACES)
def test_every_listed_name_has_a_home_and_is_seen_by_type_checkers(face: ModuleType) -> None:
    assert set(face.__all__) == set(face._HOME) == names_for_type_checkers(face)


@pytest.mark.parametrize(("face", "name"), [(face, name) for face in FACES for name in face.__all__])
def test_every_listed_name_can_be_had_and_is_no_module(face: ModuleType, name: str) -> None:
    assert not isinstance(getattr(face, name), ModuleType)


@pytest.mark.parametrize("face", FACES)
def test_an_unknown_name_is_an_attribute_error(face: ModuleType) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = face.no_such_name


def test_importing_the_package_imports_no_room() -> None:
    code = "import sys, everlog; print(*(m for m in sys.modules if m.startswith('everlog.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
