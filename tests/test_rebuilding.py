"""The check behind every test that has an agent sees what it shall see, and fails when it shall."""

from pathlib import Path

import pytest
from tests.agent.stage import call, stage, told
from tests.rebuilding import Witness, witnessed

from everlog.agent.attempt import Attempt


async def test_every_request_of_every_agent_is_seen(every_request_is_rebuilt: Witness, tmp_path: Path) -> None:
    for store in ("memory:", f"sqlite://{tmp_path}/sessions.db"):
        async with stage([call("nothing"), "a", "b"], store=store) as harness:
            agent = await told(harness, "one", "two")
            [seen] = [seen for seen in every_request_is_rebuilt.sessions.values() if seen.log.id == agent.id]
            assert list(seen.bodies) == [(1, 1, 1), (1, 2, 1), (2, 1, 1)]


async def test_a_body_that_is_not_the_logs_fails_the_test(
    monkeypatch: pytest.MonkeyPatch, every_request_is_rebuilt: Witness
) -> None:
    log_sent = Attempt._log_sent

    def log_and_change(attempt: Attempt) -> None:
        log_sent(attempt)
        attempt._body += b" "

    monkeypatch.setattr(Attempt, "_log_sent", log_and_change)
    with pytest.raises(AssertionError, match="is not what its log rebuilds"), witnessed(None):
        async with stage(["a"]) as harness:
            await told(harness, "one")
    every_request_is_rebuilt.sessions.clear()  # it has seen the same, and would fail this very test


async def test_a_body_that_no_server_received_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="what the server received"), witnessed(lambda: [b"something else"]):
        async with stage(["a"]) as harness:
            await told(harness, "one")
