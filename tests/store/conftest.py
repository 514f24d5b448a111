"""What tests of stores share: `url` names a fresh one of every kind, and `bench` has a disk that fails when told to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.lab.bench import Bench, built_disk

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


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench whose disk stands in front of the C library."""
    folder = tmp_path_factory.mktemp("bench")
    disk = built_disk(folder)
    if disk is None:
        pytest.skip("no C compiler, or no LD_PRELOAD here: the disk of the lab cannot be put in front of the C library")
    with Bench(folder, disk) as bench:
        yield bench
