"""The side file that says where the events of a plain log are: 8 bytes each, little-endian.

It is a hint, right or wrong: a reader looks at what it finds there.
"""

from __future__ import annotations

import os
import sys
from array import array
from pathlib import Path

from everlog.store.disk import Disk

PLACES = "places"


def kept_places(folder: Path) -> array[int]:
    """Give the places of events that were kept."""
    found = array("Q")
    try:
        data = (folder / PLACES).read_bytes()
    except OSError:
        return found
    found.frombytes(data[: len(data) // 8 * 8])
    if sys.byteorder == "big":
        found.byteswap()
    return found


def keep_places(disk: Disk, folder: Path, places: array[int]) -> None:
    """Add the places that are not kept yet."""
    descriptor = disk.open(folder / PLACES)
    try:
        kept = min(os.fstat(descriptor).st_size // 8, len(places))
        disk.write(descriptor, to_bytes(places[kept:]), kept * 8)
    finally:
        disk.close(descriptor)


def to_bytes(places: array[int]) -> bytes:
    """Give the bytes of places as the file has them."""
    if sys.byteorder == "little":
        return places.tobytes()
    swapped = array("Q", places)
    swapped.byteswap()
    return swapped.tobytes()
