"""Keys come from the environment first, then from the keyring."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.keys import KeyringUnavailable, delete_from_keyring, find_key, read_keyring, write_keyring


class InMemory(KeyringBackend):
    """A keyring that forgets when the process ends."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


@pytest.fixture
def ring() -> Iterator[InMemory]:
    before, mine = keyring.get_keyring(), InMemory()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def test_the_environment_wins_over_the_keyring(ring: InMemory) -> None:
    write_keyring("lab", "from-ring")
    assert find_key("lab", "LAB_KEY", {"LAB_KEY": " from-env\n"}) == ("from-env", "environment")
    assert find_key("lab", "LAB_KEY", {"LAB_KEY": " "}) == ("from-ring", "keyring")
    assert find_key("other", "OTHER_KEY", {}) == (None, None)


def test_the_keyring_forgets_what_it_is_told_to(ring: InMemory) -> None:
    write_keyring("lab", "k")
    assert read_keyring("lab") == "k"
    assert delete_from_keyring("lab")
    assert not delete_from_keyring("lab")
    assert read_keyring("lab") is None


async def test_an_agent_is_made_without_the_event_loop_waiting_for_the_keyring(
    ring: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_API_KEY", raising=False)
    asked: list[threading.Thread] = []

    class Slow(InMemory):
        def get_password(self, service: str, username: str) -> str | None:
            asked.append(threading.current_thread())
            return "k"

    keyring.set_keyring(Slow())
    config = Config.parse('[provider.lab]\nbase_url = "http://127.0.0.1:9/v1"\n')
    async with Harness(config, "memory:") as harness:
        for _ in range(2):
            async with await harness.agents.create("lab/m"):
                pass
    assert len(asked) == 1  # by both, since they share the adapter
    assert threading.main_thread() not in asked


def test_a_keyring_that_cannot_be_used_says_what_to_do_instead() -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        with pytest.raises(KeyringUnavailable, match="set the environment variable instead"):
            write_keyring("lab", "k")
        assert find_key("lab", "LAB_KEY", {}) == (None, None)
    finally:
        keyring.set_keyring(before)
