"""Workshops for the tests of tools."""

from pathlib import Path

import pytest
from tests.tools.workshop import Workshop


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    return folder


@pytest.fixture
def shop(workspace: Path) -> Workshop:
    """The built-in tools in an empty workspace."""
    return Workshop(workspace)
