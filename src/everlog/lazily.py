"""Package faces whose names are imported when they are first asked for (PEP 562).

A face hands out the names of a room. Were it to import them all, whoever needs one module of the room would wait
for every other. A new name goes into three places that `tests/test_exported_members.py` keeps equal: the block
for type checkers, the map of homes, and `__all__`.
"""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Give the `__getattr__` of a package; `homes` says which of its modules defines each name."""

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
