"""A session that the system does not let be read is told with the reason, and all others are worked on."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.session.stories import Story, plain_turn

from everlog import open_store
from everlog.store.urls import path_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs setpriv and /proc")

IDS = ("alpha", "beta", "gamma")


async def told(url: str) -> None:
    async with open_store(url) as store:
        for id in IDS:
            async with await store.create({"id": id}) as session:
                plain_turn(Story(session), "of zebras", f"answer to {id}")


def log_of(url: str, id: str) -> Path:
    (path,) = (path_of(url) / "sessions" / id).glob("events.*")
    return path


def closed_file(cli: Cli, log: Path) -> None:
    log.chmod(0)
    without_rights_of_root(cli)


def closed_folder(cli: Cli, log: Path) -> None:
    log.parent.chmod(0)
    without_rights_of_root(cli)


def broken_disk(cli: Cli, log: Path) -> None:
    """Put in place of the log what can be opened, and gives an error when its first byte is read."""
    log.rename(log.with_name("away"))
    log.symlink_to("/proc/self/mem")


def without_rights_of_root(cli: Cli) -> None:
    cli.prefix = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


WAYS = {
    closed_file: "Permission denied",
    closed_folder: "Permission denied",
    broken_disk: "Input/output error",
}


@pytest.fixture
def url(cli: Cli) -> str:
    url = f"jsonl://{cli.work}/lines"
    asyncio.run(told(url))
    return url


def forget_index(url: str) -> None:
    for file in path_of(url).glob("index.db*"):
        file.unlink()


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def reason(cli: Cli, url: str, request: pytest.FixtureRequest) -> str:
    """Make `beta` unreadable, and give what the system says of it.

    The index knows of it from before where only reading fails; else it is made anew, and cannot.
    """
    request.param(cli, log_of(url, "beta"))
    if request.param is not broken_disk:
        forget_index(url)
    return WAYS[request.param]


@pytest.fixture(autouse=True)
def removable(cli: Cli) -> object:
    """Give the rights back, that the folder can be removed after the test."""
    yield
    for folder in cli.work.glob("lines/sessions/*"):
        folder.chmod(0o700)


def test_the_others_are_copied(cli: Cli, url: str, reason: str) -> None:
    target = f"sqlite:///{cli.database}"
    done = cli("store", "copy", url, target)
    assert done.code == 1, done
    assert "2 sessions copied" in done.out
    (line,) = done.err.splitlines()
    assert line.startswith("not copied: beta: ")
    assert reason in line
    assert {row["id"] for row in cli("sessions", "--json", "--store", target).json} == {"alpha", "gamma"}


def test_the_others_are_checked(cli: Cli, url: str, reason: str) -> None:
    done = cli("store", "check", "--store", url, "--json")
    assert done.code == 1, done
    (fault,) = done.json["faults"]
    assert fault.startswith("session beta: it cannot be read: ")
    assert reason in fault
    assert done.json["sessions"] == 3
    assert done.json["events"] > 2


def test_the_others_are_verified(cli: Cli, url: str, reason: str) -> None:
    done = cli("verify", "--store", url, "--json")
    assert done.code == 1, done
    found = {proof["session"]: proof for proof in done.json}
    assert {id: proof["holds"] for id, proof in found.items()} == {"alpha": True, "beta": False, "gamma": True}
    (fault,) = found["beta"]["faults"]
    assert reason in fault["what"]
    alone = cli("verify", "beta", "--store", url)
    assert alone.code == 1
    assert reason in alone.out
    assert "--salvage" not in alone.out  # which has to read it, too


def test_the_others_are_summed_up(cli: Cli, url: str, reason: str) -> None:
    done = cli("stats", "--store", url, "--json")
    assert done.code == 1, done
    assert done.json["sessions"] == 2
    assert list(done.json["unread"]) == ["beta"]
    assert reason in done.json["unread"]["beta"]
    (line,) = cli("stats", "--store", url).err.splitlines()
    assert reason in line


def test_the_others_are_searched(cli: Cli, url: str, reason: str) -> None:
    done = cli("sessions", "--search", "zebras", "--store", url, "--json")
    assert done.code == 1, done
    assert {hit["session"] for hit in done.json} == {"alpha", "gamma"}
    (line,) = done.err.splitlines()
    assert line.startswith("not searched: beta: ")
    assert reason in line


def test_one_that_was_searched_before_and_cannot_be_read_any_more_is_told(cli: Cli, url: str) -> None:
    assert len(cli("sessions", "--search", "zebras", "--store", url, "--json").json) == 3
    broken_disk(cli, log_of(url, "beta"))
    done = cli("sessions", "--search", "zebras", "--store", url, "--json")
    assert done.code == 1
    assert {hit["session"] for hit in done.json} == {"alpha", "gamma"}
    assert done.err.startswith("not searched: beta: ")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_list_shows_it_as_damaged_until_it_can_be_read_again(cli: Cli, url: str, way: Callable[..., None]) -> None:
    forget_index(url)
    log = log_of(url, "beta")
    way(cli, log)
    rows = {row["id"]: row for row in cli("sessions", "--json", "--store", url).json}
    assert WAYS[way] in rows["beta"]["damage"]
    assert rows["alpha"].get("damage") is None
    log.parent.chmod(0o700)
    if log.is_symlink():
        log.with_name("away").replace(log)
    log.chmod(0o600)
    rows = {row["id"]: row for row in cli("sessions", "--json", "--store", url).json}
    assert rows["beta"].get("damage") is None
    assert abs(rows["beta"]["updatedAt"] - rows["alpha"]["updatedAt"]) < 86_400_000
    assert len(cli("sessions", "--search", "zebras", "--store", url, "--json").json) == 3


def test_a_blob_that_cannot_be_read_is_told_and_nothing_else_is_left_out(cli: Cli, url: str) -> None:
    async def put() -> tuple[str, str]:
        async with open_store(url) as store:
            hashes = store.blobs.put(b"one"), store.blobs.put(b"two")
            async with await store.create({"id": "delta"}) as session:
                await session.flush()
            return hashes

    broken, _ = asyncio.run(put())
    file = path_of(url) / "blobs" / broken[:2] / broken
    file.unlink()
    file.mkdir()
    done = cli("store", "check", "--store", url, "--json")
    assert done.code == 1, done
    (fault,) = done.json["faults"]
    assert fault.startswith(f"blob {broken}: it cannot be read: ")
    assert (done.json["sessions"], done.json["blobs"]) == (4, 2)
