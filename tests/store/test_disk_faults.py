"""The disk of a JSONL store fails, takes half, or dies at each single call of a run; what was promised stays.

Here the calls are those of `Disk`, in one process. `test_system_faults.py` puts the faults below the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar

import pytest

from everlog.session.header import new_header
from everlog.store.disk import Disk
from everlog.store.errors import SessionNotFound, StoreError
from everlog.store.jsonl.backend import JsonlBackend
from everlog.store.jsonl.framed import FramedLog
from everlog.store.jsonl.logfile import LogFile
from everlog.store.jsonl.plain import PlainLog
from everlog.store.verifying import verify
from everlog.testing.store_contract import batch_of


class Died(BaseException):
    """The process ends here."""


class FaultyDisk(Disk):
    """Counts the calls that change something, and has one of them go wrong, or two: `first` does half and fails."""

    def __init__(self, at: int = -1, fault: str = "none", first: int = -1) -> None:
        self.calls = 0
        self.written: list[int] = []
        self._at = at
        self._fault = fault
        self._first = first
        self.faults = 1 if first < 0 else 2
        self._dead = False

    def _next(self) -> str:
        if self._dead:
            raise Died
        now, self.calls = self.calls, self.calls + 1
        if now == self._first:
            return "half and fail"
        if now != self._at:
            return "none"
        match self._fault:
            case "fail":
                raise OSError(5, "Input/output error")
            case "die":
                self._dead = True
                raise Died
            case fault:
                return fault

    def write_some(self, descriptor: int, data: memoryview, offset: int) -> int:
        self.written.append(self.calls)
        fault = self._next()
        if fault == "none":
            return super().write_some(descriptor, data, offset)
        written = super().write_some(descriptor, data[: len(data) // 2], offset)
        match fault:
            case "tear":
                self._dead = True
                raise Died
            case "half and fail":
                raise OSError(28, "No space left on device")
            case _:
                return written

    def copy_some(self, source: int, start: int, count: int, target: int, offset: int) -> int:
        fault = self._next()
        done = super().copy_some(source, start, count if fault == "none" else max(1, count // 2), target, offset)
        if fault == "tear":
            self._dead = True
            raise Died
        return done

    def truncate(self, descriptor: int, size: int) -> None:
        self._next()
        super().truncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        self._next()  # what survives a loss of power is not asked here, so that nothing need be synced

    def sync_folder(self, path: Path) -> None:
        self._next()

    def rename(self, source: Path, target: Path) -> None:
        self._next()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._next()
        super().remove(path)

    def make_folder(self, path: Path) -> None:
        self._next()
        super().make_folder(path)

    def create(self, path: Path) -> int:
        self._next()
        return super().create(path)


class Run:
    """A run over everything that a store writes. Each step is tried again when it fails, as a pen does."""

    def __init__(self, root: Path, kind: type[LogFile], disk: FaultyDisk) -> None:
        self.root = root
        self.kind = kind
        self.disk = disk
        self.given: dict[str, list[bytes]] = {}
        self.promised: dict[str, int] = {}
        self.leases: list[object] = []

    def go(self) -> None:
        backend = self.tried(lambda: JsonlBackend(self.root, self.kind, self.disk))
        first = self.tried(lambda: backend.create(new_header(id="first")))
        self.leases.append(first)
        self.write(first, "one", "two")
        self.write_synced(first, "three " * 50)
        self.tried(lambda: backend.put_blob("ab" * 32, b"a blob"))
        self.write(first, "four")
        self.tried(first.sync)
        self.promised["first"] = first.end.next_seq
        with suppress(OSError):
            first.save_checkpoint(3, b"what was known")
        at = first.end
        child = self.tried(lambda: backend.fork("first", at, new_header(id="child", inherited_events=4)))
        self.leases.append(child)
        self.given["child"] = self.given["first"][:4]
        self.write_synced(child, "of the child")
        self.write_synced(first, "five")
        child.release()
        with suppress(SessionNotFound):  # what failed was only to make the move durable
            self.tried(lambda: backend.trash("child"))
        with suppress(SessionNotFound):
            self.tried(lambda: backend.restore("child"))
        first.release()
        self.leases.clear()
        backend.close()

    def tried(self, step: Callable[[], object]) -> object:
        for _ in range(self.disk.faults):
            with suppress(OSError, StoreError):
                return step()
        return step()

    def write(self, lease: object, *texts: str) -> None:
        batch = batch_of(lease.session, lease.end, *texts)
        self.given.setdefault(lease.session, []).extend(batch.data)
        self.tried(lambda: lease.append(batch))

    def write_synced(self, lease: object, *texts: str) -> None:
        batch = batch_of(lease.session, lease.end, *texts)
        self.given.setdefault(lease.session, []).extend(batch.data)
        self.tried(lambda: lease.append_synced(batch))
        self.promised[lease.session] = lease.end.next_seq

    def end_process(self) -> None:
        """Give locks back, as the system does for a process that ended."""
        for lease in self.leases:
            lease._lock.release()


def check(run: Run) -> None:
    """See that what was promised is there, and nothing that was never given; and that it goes on."""
    with closing(JsonlBackend(run.root, run.kind, FaultyDisk())) as backend:
        listed = {summary.id: summary for summary in backend.list(9, None, False)}
        listed |= {summary.id: summary for summary in backend.list(9, None, True)}
        for id, given in run.given.items():
            if id not in listed:
                assert not run.promised.get(id)
                continue
            assert listed[id].damage is None
            if listed[id].trashed_at is not None:
                backend.restore(id)
            lease = backend.acquire(id)
            with closing(backend.reader(id)) as reader:
                kept = [record.data for record in reader.read(0, reader.end().next_seq)]
                assert kept == given[: len(kept)]
                assert len(kept) >= run.promised.get(id, 0)
            lease.append_synced(batch_of(id, lease.end, "it goes on"))
            lease.release()
            with closing(backend.reader(id)) as reader:
                assert verify(id, reader).faults == ()
        if run.promised.get("first", 0) >= 4:
            assert backend.blob("ab" * 32) == b"a blob"


KINDS: list[type[LogFile]] = [PlainLog, FramedLog]


def positions(tmp_path: Path, kind: type[LogFile]) -> Iterator[int]:
    """Give the number of each call of a run in which nothing goes wrong."""
    disk = FaultyDisk()
    run = Run(tmp_path / "sound", kind, disk)
    run.go()
    check(run)
    assert disk.calls > 50
    yield from range(disk.calls)


@pytest.mark.parametrize("fault", ["fail", "short", "half and fail", "die", "tear"])
def test_a_side_file_that_becomes_shorter_is_seen_as_it_was_or_as_it_is_to_be(tmp_path: Path, fault: str) -> None:
    place, before, after = tmp_path / "side", b"the longer one " * 99, b"short"
    sound = FaultyDisk()
    sound.write_whole(place, after)
    assert sound.calls > 4
    for at in range(sound.calls):
        place.write_bytes(before)
        with suppress(OSError, Died):
            FaultyDisk(at, fault).write_whole(place, after)
        assert place.read_bytes() in (before, after)
        Disk().write_whole(place, after)
        assert place.read_bytes() == after


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["fail", "short", "half and fail"])
def test_a_call_that_fails_once_is_made_good(tmp_path: Path, kind: type[LogFile], fault: str) -> None:
    for at in positions(tmp_path, kind):
        run = Run(tmp_path / str(at), kind, FaultyDisk(at, fault))
        run.go()
        assert {id: len(given) for id, given in run.given.items()} == {"first": 5, "child": 5}
        check(run)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["fail", "short", "half and fail", "die", "tear"])
def test_a_call_may_go_wrong_while_a_write_that_failed_is_made_good(
    tmp_path: Path, kind: type[LogFile], fault: str
) -> None:
    """What a failed write left is cut off before it is written again; a disk cuts only then, and at a torn end."""
    sound = FaultyDisk()
    Run(tmp_path / "sound", kind, sound).go()
    for first in sound.written:
        for at in range(first + 1, first + 5):
            disk = FaultyDisk(at, fault, first)
            run = Run(tmp_path / f"{first}-{at}", kind, disk)
            with suppress(Died):
                run.go()
            run.end_process()
            check(run)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["die", "tear"])
def test_a_process_that_dies_at_any_call_leaves_what_it_promised(
    tmp_path: Path, kind: type[LogFile], fault: str
) -> None:
    for at in positions(tmp_path, kind):
        run = Run(tmp_path / str(at), kind, FaultyDisk(at, fault))
        with suppress(Died):
            run.go()
        run.end_process()
        check(run)


def test_a_write_that_failed_tells_the_file(tmp_path: Path) -> None:
    class Full(Disk):
        def write_some(self, descriptor: int, data: memoryview, offset: int) -> int:
            if offset:
                raise OSError(28, "No space left on device")
            return super().write_some(descriptor, data, offset)

    with closing(JsonlBackend(tmp_path, disk=Full())) as backend:
        lease = backend.create(new_header(id="s"))
        with pytest.raises(OSError, match="No space left") as failed:
            lease.append(batch_of("s", lease.end, "more"))
        assert str(failed.value.filename).endswith("events.jsonl")
        lease.release()


def test_folders_that_are_made_are_synced_in_turn_and_so_is_the_name_of_the_lowest_there(
    tmp_path: Path,
) -> None:
    class Noting(Disk):
        synced: ClassVar[list[Path]] = []

        def sync_folder(self, path: Path) -> None:
            self.synced.append(path)
            if path == tmp_path.parent:
                raise PermissionError(13, "Permission denied")

    Noting().make_folders(tmp_path / "a" / "b")
    assert Noting.synced == [tmp_path.parent, tmp_path, tmp_path / "a"]
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        Disk().make_folders(tmp_path / "file" / "below")
