"""A process that is killed at any event of a compaction leaves a session that goes on, its view old or new."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.agent.stage import endings, payloads
from tests.compaction.crashing import CONFIG, RUNS, SESSION, WINDOW, look, talk
from tests.compaction.worker import NAME, Worker, workshop

from everlog.compaction.seam import NothingToCompact
from everlog.session.log import Log
from everlog.session.rules import check
from everlog.session.rules.compaction import compaction_of
from everlog.store import open_store

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A folder for each process that was killed."""
    folder = tmp_path_factory.mktemp("crashed")
    subprocess.run([sys.executable, "-m", "tests.compaction.crashing", str(folder)], cwd=ROOT, check=True, timeout=300)
    return sorted(path for path in folder.iterdir() if not path.name.endswith("-whole"))


def last_event(log: Log) -> str:
    return log.events[log.stored - 1].type  # type: ignore[attr-defined]


async def test_there_was_a_crash_at_each_event_of_each_compaction(crashed: list[Path]) -> None:
    at: dict[str, set[str]] = {run: set() for run in RUNS}
    for folder in crashed:
        async with open_store(f"sqlite://{folder}/sessions.db") as store, await store.open(SESSION, "read") as log:
            at[folder.name.rpartition("-")[0]].add(last_event(log))
    compaction = {"compaction/start", "request/side", "compaction/summary", "user/message", "compaction/end"}
    assert compaction | {"turn/start", "step/start", "request/header", "request/sent"} <= at["window"]
    assert compaction <= at["command"]
    assert {"compaction/prune", "tool/result", "request/header"} <= at["prune"]


async def test_what_the_model_sees_is_the_old_or_the_new_never_half(crashed: list[Path]) -> None:
    for folder in crashed:
        async with open_store(f"sqlite://{folder}/sessions.db") as store, await store.open(SESSION, "read") as log:
            assert check(log) == [], folder.name
            nodes = set(log.surface.nodes)
            landed = {compaction_of(message) for message in log.messages()}
            for summary in payloads(log, "compaction/summary"):
                shadowed = set(summary.shadowed_seqs)
                assert shadowed & nodes == (set() if summary.compaction_id in landed else shadowed), folder.name


async def test_every_session_goes_on_is_compacted_again_and_loses_no_input(crashed: list[Path]) -> None:
    for folder in crashed:
        worker = Worker(talk, WINDOW)
        url = f"sqlite://{folder}/sessions.db"
        async with (
            workshop(worker, [look], store=url, config=CONFIG) as harness,
            await harness.agents.resume(SESSION, model=NAME) as agent,
        ):
            agent.followup("go on")
            await agent.when_idle()
            assert endings(agent.session)[-1] == "completed", folder.name
            try:
                await agent.compact()
            except NothingToCompact:
                assert len(agent.session.messages()) <= 4, folder.name
            agent.followup("and on")
            await agent.when_idle()
            assert endings(agent.session)[-1] == "completed", folder.name
            assert check(agent.session) == [], folder.name
            queued = [i.message.id for s in payloads(agent.session, "inbox/spliced") for i in s.inserted]
            entered = [m.id for m in payloads(agent.session, "user/message") if m.source.get("kind") == "user"]
            assert sorted(queued) == sorted(entered), folder.name
            assert len(agent.session.project("inbox")) == 0, folder.name
