"""A process that is killed at any point leaves a session that opens, holds what was promised, and goes on."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.agent.killing import SESSION
from tests.agent.stage import MODEL, endings, payloads, stage

from everlog.session.log import Log
from everlog.session.messages import Message
from everlog.session.repair import closers
from everlog.session.rules import check
from everlog.store import SessionNotFound, open_store
from everlog.tools.declare import tool

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A folder for each process that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    subprocess.run([sys.executable, "-m", "tests.agent.killing", str(folder)], cwd=ROOT, check=True, timeout=300)
    return sorted(path for path in folder.iterdir() if path.name != "unkilled")


def store_in(folder: Path) -> str:
    return f"sqlite://{folder}/sessions.db"


def inputs(log: Log) -> list[str]:
    """The ids of all input that the log holds."""
    return [item.message.id for splice in payloads(log, "inbox/spliced") for item in splice.inserted]


def places(log: Log) -> Counter[str]:
    """How often each input stands somewhere: pending, or in history."""
    history = [data.id for data in payloads(log, "user/message") if isinstance(data, Message)]
    return Counter([*history, *(input.id for input in log.project("inbox"))])


def promised(folder: Path) -> int:
    """How many events a flush of the process said are durable."""
    path = folder / "promised"
    return max(map(int, path.read_text().split()), default=0) if path.exists() else 0


def ran(folder: Path) -> list[str]:
    path = folder / "ran"
    return path.read_text().split() if path.exists() else []


def test_there_are_enough_points(killed: list[Path]) -> None:
    kinds = Counter(path.name.rpartition("-")[0] for path in killed)
    assert len(killed) >= 100
    assert {"event", "before-synced-write", "after-synced-write", "before-dispatch", "before-effect"} <= set(kinds)


async def test_every_session_opens_balanced_and_holds_what_was_promised(killed: list[Path]) -> None:
    for folder in killed:
        async with open_store(store_in(folder)) as store:
            try:
                log = await store.open(SESSION, "read")
            except SessionNotFound:
                assert promised(folder) == 0, folder.name
                continue
            async with log:
                assert not log.running, folder.name
                assert log.stored >= promised(folder), folder.name
                assert check(log) == [], folder.name
                assert not log.ledger.turns.is_open, folder.name
                assert log.ledger.calls.pending == [], folder.name
                assert set(places(log).values()) <= {1}, folder.name
                assert set(places(log)) == set(inputs(log)), folder.name


async def test_the_same_log_has_the_same_closers(killed: list[Path]) -> None:
    for folder in killed:
        async with open_store(store_in(folder)) as store:
            readings = []
            for _ in range(2):
                async with await store.open(SESSION, "read") as log:
                    computed = [event.to_json() for event in log.events.between(log.stored, log.next_seq)]
                    readings.append(computed)
                    assert closers(log) == [], folder.name
            assert readings[0] == readings[1], folder.name
            stored = log.stored
            async with await store.open(SESSION, "write") as session:
                written = [event.to_json() for event in session.events.between(stored, session.next_seq)]
            assert written == readings[0], folder.name


async def test_every_session_goes_on_and_no_tool_runs_again_by_itself(killed: list[Path]) -> None:
    @tool
    async def change(to: str) -> str:
        """Change something."""
        raise AssertionError("nobody asked for it")

    for folder in killed:
        before = ran(folder)
        async with (
            stage(["Fine."] * 99, [change], store=store_in(folder)) as harness,
            await harness.agents.resume(SESSION, model=MODEL) as agent,
        ):
            held = inputs(agent.session)
            last = agent.followup("Go on.")
            await agent.when_idle()
            assert endings(agent.session)[-1] == "completed", folder.name
            assert check(agent.session) == [], folder.name
            history = [data.id for data in payloads(agent.session, "user/message")]
            assert sorted(history) == sorted([*held, last]), folder.name
            assert history[-1] == last, folder.name
            _one_result_for_each_call(agent.session, folder.name)
        assert ran(folder) == before == sorted(set(before)), folder.name


def _one_result_for_each_call(log: Log, name: str) -> None:
    asked = [
        (data.turn, data.step, call.id) for data in payloads(log, "assistant/message") for call in data.message.calls
    ]
    answered = [(data.turn, data.step, data.message.result.tool_call_id) for data in payloads(log, "tool/result")]
    assert answered == asked, name
