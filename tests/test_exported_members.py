"""The public face is pinned: what it lists, what it gives, and what type checkers see are the same names."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import everlog


def names_for_type_checkers() -> set[str]:
    tree = ast.parse(Path(everlog.__file__).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_every_listed_name_has_a_home_and_is_seen_by_type_checkers() -> None:
    assert set(everlog.__all__) == set(everlog._HOME) == names_for_type_checkers()


@pytest.mark.parametrize("name", everlog.__all__ or ["__version__"])
def test_every_listed_name_can_be_had(name: str) -> None:
    assert getattr(everlog, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = everlog.no_such_name


def test_importing_the_package_imports_no_room() -> None:
    code = "import sys, everlog; print(*(m for m in sys.modules if m.startswith('everlog.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
