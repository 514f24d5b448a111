"""One fixture for every kind of store: `url` names a fresh one."""

from __future__ import annotations

from pathlib import Path

import pytest

URLS = {
    "memory": "memory:{}",
    "sqlite": "sqlite://{}/sessions.db",
    "jsonl": "jsonl://{}/sessions",
    "jsonl-zstd": "jsonl://{}/sessions?compression=zstd",
}
ON_DISK = [name for name in URLS if name != "memory"]


@pytest.fixture(params=list(URLS))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every kind of store."""
    return URLS[request.param].format(tmp_path)


@pytest.fixture(params=ON_DISK)
def disk_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every kind of store that survives its process."""
    return URLS[request.param].format(tmp_path)
