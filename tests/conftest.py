"""Fixtures for every room: see `tests/peers` for the servers."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests.peers.aimock import Aimock, running_aimock
from tests.peers.llamacpp import LlamaCpp, running_llamacpp
from tests.rebuilding import Witness, witnessed

# A slow machine is no fault of the code. Where CI runs, the examples are the same each time: main stays green.
settings.register_profile(
    "everlog",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("everlog")

os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
"""No test looks into the keyring of whoever runs it; neither do the processes that it starts."""


@pytest.fixture(scope="session")
def aimock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    with running_aimock(tmp_path_factory.mktemp("aimock")) as server:
        yield server


@pytest.fixture
def aimock(aimock_server: Aimock) -> Aimock:
    """A server that speaks the protocols of providers, without answers yet."""
    aimock_server.reset()
    return aimock_server


@pytest.fixture(scope="session")
def llamacpp_server() -> Iterator[LlamaCpp]:
    with running_llamacpp() as server:
        yield server


@pytest.fixture
def llamacpp(llamacpp_server: LlamaCpp) -> LlamaCpp:
    """A real server with a real small model, which has received nothing yet."""
    llamacpp_server.reset()
    return llamacpp_server


@pytest.fixture(autouse=True)
def every_request_is_rebuilt(request: pytest.FixtureRequest) -> Iterator[Witness]:
    """After each test that had an agent: derive every request from the stored log, and compare what was sent."""
    if request.node.get_closest_marker("rebuilds_itself"):
        yield Witness()
        return
    names = [name for name in ("aimock", "llamacpp") if name in request.fixturenames]
    server = request.getfixturevalue(names[0]) if names else None
    with witnessed((lambda: server.bodies) if server else None) as witness:
        yield witness
