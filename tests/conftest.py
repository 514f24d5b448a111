"""Fixtures for every room: see `tests/peers` for the servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.aimock import Aimock, running_aimock


@pytest.fixture(scope="session")
def aimock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    with running_aimock(tmp_path_factory.mktemp("aimock")) as server:
        yield server


@pytest.fixture
def aimock(aimock_server: Aimock) -> Aimock:
    """A server that speaks the protocols of providers, without answers yet."""
    aimock_server.reset()
    return aimock_server
