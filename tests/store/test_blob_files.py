"""A blob that a try left behind when its last sync failed is made durable by the next one."""

import hashlib
from pathlib import Path

import pytest

from everlog.store.disk import Disk
from everlog.store.jsonl.blobs import BlobFolder

DATA = b"evidence"
HASH = hashlib.sha256(DATA).hexdigest()


class FailingOnce(Disk):
    """A disk that fails one of its syncs of a folder, and tells which it did."""

    def __init__(self, failing: int) -> None:
        self.failing = failing
        self.tried = 0
        self.synced: list[str] = []

    def sync_folder(self, path: Path) -> None:
        self.tried += 1
        if self.tried == self.failing:
            raise OSError("the disk failed")
        super().sync_folder(path)
        self.synced.append(path.name)


@pytest.mark.parametrize("failing", [1, 2])
def test_what_was_put_while_a_sync_failed_is_synced_when_it_is_put_again(failing: int, tmp_path: Path) -> None:
    disk = FailingOnce(failing)
    blobs = BlobFolder(tmp_path, disk)
    with pytest.raises(OSError, match="the disk failed"):
        blobs.put(HASH, DATA)
    blobs.put(HASH, DATA)
    assert disk.synced == [tmp_path.name, HASH[:2]]
    assert blobs.get(HASH) == DATA


def test_what_another_process_left_behind_is_not_taken_for_durable(tmp_path: Path) -> None:
    BlobFolder(tmp_path, FailingOnce(0)).put(HASH, DATA)
    disk = FailingOnce(0)
    blobs = BlobFolder(tmp_path, disk)
    blobs.put(HASH, DATA)
    blobs.put(HASH, DATA)
    assert disk.synced == [tmp_path.name, HASH[:2]]
