"""How a store keeps many sessions: forks that share, lists from an index, old ones cleaned up, blobs, privacy."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.session.stories import Story, plain_turn
from tests.store.conftest import URLS
from tests.store.tampering import log_file

from everlog import SessionNotFound, open_store
from everlog.session.header import new_header
from everlog.store.names import path_name
from everlog.store.oslock import FileLock
from everlog.store.upkeep import broken_blobs
from everlog.store.urls import opener_of, path_of
from everlog.testing.store_contract import AWKWARD_IDS


def size_of(url: str) -> int:
    """Give how many bytes a store takes on disk."""
    path = path_of(url)
    files = path.parent.glob(path.name + "*") if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


async def test_fifty_forks_do_not_take_the_room_of_fifty_copies(tmp_path: Path) -> None:
    url = URLS["sqlite"].format(tmp_path)
    async with open_store(url) as store, await store.create() as parent:
        for n in range(150):
            plain_turn(Story(parent), f"turn {n} " + "x" * 2_000)
    before = size_of(url)
    async with open_store(url) as store:
        for _ in range(50):
            async with await store.fork(parent.id) as child:
                plain_turn(Story(child), "of the child")
        assert len(await store.list(limit=100)) == 51
    assert size_of(url) < 2 * before


async def test_the_session_that_was_resumed_is_not_the_oldest_any_more(url: str) -> None:
    async with open_store(url) as store:
        ids = []
        for n in range(5):
            async with await store.create({"id": f"s{n}", "createdAt": n + 1}) as session:
                plain_turn(Story(session))
            ids.append(session.id)
        async with await store.open("s0", "write"):
            listed = [summary.id for summary in await store.list()]
            assert listed == ["s0", "s4", "s3", "s2", "s1"]
            oldest = (await store.list())[-1]
            assert oldest.id == "s1"
        times = {summary.id: summary.updated_at for summary in await store.list()}
        assert times["s0"] == max(times.values())  # others may have been used within the same millisecond


async def test_a_list_reads_no_log(tmp_path: Path) -> None:
    url = URLS["jsonl"].format(tmp_path)
    async with open_store(url) as store:
        async with await store.create({"id": "s", "createdAt": 1}) as session:
            plain_turn(Story(session), "the first words")
            session.append_json("session/title", {"title": "A title"})
        await store.list()
        log_file(url).write_bytes(b"not a log any more")
        (summary,) = await store.list()
        assert (summary.title, summary.preview, summary.events) == ("A title", "the first words", 9)


async def test_a_list_that_is_made_anew_has_what_was_used_last_first(tmp_path: Path) -> None:
    url = URLS["jsonl"].format(tmp_path)
    ids = [f"s{n}" for n in range(12)]
    async with open_store(url) as store:
        for at, id in enumerate(ids):
            async with await store.create({"id": id, "createdAt": 1}):
                pass
            os.utime(path_of(url) / "sessions" / id / "events.jsonl", (1_000_000 + at, 1_000_000 + at))
    path_of(url).joinpath("index.db").unlink()
    async with open_store(url) as store:
        assert [summary.id for summary in await store.list()] == ids[::-1]


async def test_an_index_that_is_gone_or_damaged_is_made_anew(tmp_path: Path) -> None:
    url = URLS["jsonl"].format(tmp_path)
    async with open_store(url) as store:
        for n in range(3):
            async with await store.create({"id": f"s{n}", "createdAt": 1}) as session:
                plain_turn(Story(session), f"words of {n}")
                session.append_json("session/title", {"title": f"Title {n}"})
                plain_turn(Story(session), "more")
        await store.delete("s1")
        index = path_of(url) / "index.db"
        for spoil in (Path.unlink, lambda path: path.write_bytes(b"no database " * 100)):
            spoil(index)
            for end in ("-wal", "-shm"):
                index.with_name("index.db" + end).unlink(missing_ok=True)
            listed = {summary.id: summary.title for summary in await store.list()}
            assert listed == {"s0": "Title 0", "s2": "Title 2"}
            assert [summary.id for summary in await store.list(trashed=True)] == ["s1"]
            assert [hit.session for hit in await store.search("words 2")] == ["s2"]


async def test_a_search_finds_what_was_said_once_in_a_fork_and_its_parent_and_in_what_was_salvaged(url: str) -> None:
    async with open_store(url) as store:
        async with await store.create({"id": "parent", "createdAt": 1}) as parent:
            plain_turn(Story(parent), "the first words")
        async with await store.fork("parent") as child:
            plain_turn(Story(child), "other words")
        assert [hit.session for hit in await store.search("first words")] == ["parent"]
        assert [hit.session for hit in await store.search("other words")] == [child.id]
        salvaged = (await store.salvage("parent")).session
        await store.purge("parent")
        assert [hit.session for hit in await store.search("first words")] == [salvaged]


def test_a_session_that_is_put_into_the_trash_while_it_is_being_opened_is_not_opened(
    disk_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opener_of(disk_url)(disk_url)) as other, closing(opener_of(disk_url)(disk_url)) as backend:
        other.create(new_header(id="s")).release()
        lock: Callable[[str], FileLock] = backend._lock  # type: ignore[attr-defined]

        def late(id: str) -> FileLock:
            other.trash(id)
            return lock(id)

        monkeypatch.setattr(backend, "_lock", late)
        with pytest.raises(SessionNotFound):
            backend.acquire("s")
        assert backend.holder("s") is None


async def test_sixty_images_are_kept_once_each_and_shared_by_forks(url: str) -> None:
    images = [bytes([n]) * 5_000 for n in range(60)]
    async with open_store(url) as store:
        async with await store.create() as session:
            for n, image in enumerate([*images, *images]):
                block = {"type": "image", "blob": session.blobs.put(image), "mediaType": "image/png"}
                message = {"id": f"m{n}", "role": "user", "content": [block], "source": {"kind": "user"}}
                session.append_json("user/message", message, "append")
        async with await store.fork(session.id):
            pass
        await store.purge(session.id)
        assert await store.unnamed_blobs(young_ms=-1_000) == []
        assert len(list(store.backend.blobs())) == 60
        assert list(broken_blobs(store.backend)) == []
        (child,) = await store.list()
        async with await store.open(child.id) as log:
            assert [log.blobs.get(message.content[0].blob) for message in log.messages()] == [*images, *images]
        await store.purge(child.id)
        assert len(await store.unnamed_blobs(young_ms=-1_000)) == 60
        assert await store.unnamed_blobs() == []


async def test_only_the_user_can_look_at_what_is_stored(disk_url: str, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        async with open_store(disk_url) as store, await store.create({"id": "Session", "createdAt": 1}) as session:
            session.blobs.put(b"private")
            for n in range(30):
                plain_turn(Story(session), f"turn {n}")
            await session.flush()
            await store.search("turn")
            session.keep_checkpoint()
            async with await store.fork(session.id):
                pass
            opened = [path for path in path_of(disk_url).parent.rglob("*") if path != tmp_path]
            modes = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in opened}
        assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
    finally:
        os.umask(old)


def test_path_names_are_safe_and_of_one_id_each() -> None:
    ids = [*AWKWARD_IDS, "abc", "Abc", "~abc", "", "CON", "nul", "é", "e\u0301", "-x", "a.b", "x" * 100, "x" * 101]
    names = [path_name(id) for id in ids]
    assert len({name.casefold() for name in names}) == len(set(ids))
    for name in names:
        assert len(name) <= 120
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-~")


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("sqlite:///data/file.db", "/data/file.db"),
        ("sqlite:////data/file.db", "/data/file.db"),
        ("sqlite:file.db", "file.db"),
        ("sqlite:./data/file.db", "data/file.db"),
        ("jsonl:///a%20b/c?compression=zstd", "/a b/c"),
        ("sqlite:~/file.db", str(Path.home() / "file.db")),
    ],
)
def test_a_url_names_a_path(given: str, path: str) -> None:
    assert path_of(given) == Path(path)
