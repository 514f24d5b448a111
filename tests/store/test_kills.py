"""Processes that write are killed at random moments: every promise holds, and nothing is there that never was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.conftest import ON_DISK, URLS
from tests.store.lab import work
from tests.store.lab.bench import Bench, Outcome, check_session

from everlog import open_store

KILLS = {"live": 240, "checkpoint": 30}
"""So many for each kind of store, in one store that they all share."""
OTHER_KILLS = 8
"""So many in each other work."""


class Moments:
    """Gives random moments within the time that a trial takes, on this machine and under its load now."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._most = 0.3

    def next(self) -> float:
        return self._random.uniform(0.0, self._most)

    def learn(self, outcome: Outcome) -> None:
        """Take in how long a trial took that was done before its moment came."""
        if outcome.seconds is not None:
            self._most = outcome.seconds


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench")) as bench:
        yield bench


@pytest.mark.slow
@pytest.mark.parametrize("kind", KILLS)
@pytest.mark.parametrize("name", ON_DISK)
async def test_a_process_that_writes_is_killed(bench: Bench, name: str, kind: str, tmp_path: Path) -> None:
    url = URLS[name].format(tmp_path)
    moments = Moments(name + kind)
    killed = 0
    while killed < KILLS[kind]:
        seed = killed
        outcome = bench.run(moments.next(), work=kind, url=url, id=f"s{seed}", seed=seed)
        moments.learn(outcome)
        assert outcome.error is None, outcome.error
        if outcome.status == 0:
            await purge(url, f"s{seed}")
            continue
        killed += 1
        await check_session(url, f"s{seed}", seed, outcome.promised("flush"))


async def purge(url: str, id: str) -> None:
    """Make room for another try with the same session."""
    async with open_store(url) as store:
        await store.purge(id)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["copy", "fork", "salvage", "collect", "throw_away"])
@pytest.mark.parametrize("name", ON_DISK)
async def test_a_process_is_killed_in_the_middle_of(bench: Bench, name: str, kind: str, tmp_path: Path) -> None:
    url = URLS[name].format(tmp_path)
    moments = Moments(name + kind)
    for seed in range(OTHER_KILLS):
        id = f"s{seed}"
        if kind != "copy":
            await work.prepare(url, id, seed)
        outcome = bench.run(moments.next(), work=kind, url=url, id=id, seed=seed)
        moments.learn(outcome)
        assert outcome.error is None, outcome.error
        await check_whole(url, id, seed, kind, outcome.promised("copied"))


async def check_whole(url: str, id: str, seed: int, kind: str, copied: int | None) -> None:
    """See that the session of a work is whole, or, for a copy, can be copied to its end; and the store is well."""
    if kind == "copy":
        async with open_store(url) as target, open_store("memory:") as source:
            await work.made(source, id, seed)
            done = await source.copy(id, target)
            assert done.written <= done.events - (copied or 0)
    if kind == "throw_away":
        async with open_store(url) as store:
            if id in {summary.id for summary in await store.list(trashed=True)}:
                await store.restore(id)
    await check_session(url, id, seed, len(work.expected(id, seed)))
    async with open_store(url) as store:
        for summary in await store.list(limit=1_000):
            assert summary.damage is None
            assert (await store.verify(summary.id)).sound
