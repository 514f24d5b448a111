"""From a URL to a store: which backend, and where."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from everlog.store.backend import Opener
from everlog.store.errors import UrlInvalid

_BUILT_IN = {
    "memory": "everlog.store.memory",
    "sqlite": "everlog.store.sqlite",
    "jsonl": "everlog.store.jsonl",
}
_STANDS_AT = {"sqlite": "", "jsonl": "store.json"}
"""The file, below the path of a URL, that a store of this kind has."""
_added: dict[str, Opener] = {}


def default_url() -> str:
    """Give the URL of the store in the user's data folder."""
    import platformdirs  # takes longer than everything else here, and is seldom needed

    folder = Path(platformdirs.user_data_dir("everlog", appauthor=False))
    return f"sqlite://{(folder / 'sessions.db').as_posix()}"


def add_scheme(scheme: str, opener: Opener) -> Callable[[], None]:
    """Have URLs of a scheme opened by `opener`; give what ends that.

    A package may instead name its opener as an entry point `SCHEME` of the group `everlog.stores`.
    """
    name = scheme.lower()
    _added[name] = opener

    def undo() -> None:
        if _added.get(name) is opener:
            del _added[name]

    return undo


def opener_of(url: str) -> Opener:
    """Give what opens a URL. Raises UrlInvalid when nothing does."""
    scheme = scheme_of(url)
    if ":" not in url:
        raise UrlInvalid(f"{url!r} is not the URL of a store; write sqlite:///path/file.db, jsonl:///folder or memory:")
    if scheme in _added:
        return _added[scheme]
    if scheme in _BUILT_IN:
        return cast(Opener, import_module(_BUILT_IN[scheme]).open_backend)
    from importlib.metadata import entry_points  # costs more than opening a store, and is seldom needed

    for entry in entry_points(group="everlog.stores", name=scheme):
        return cast(Opener, entry.load())
    known = ", ".join(sorted({*_BUILT_IN, *_added}))
    raise UrlInvalid(f"no store has URLs that begin with {scheme}:; there are {known}")


def scheme_of(url: str) -> str:
    """Give the scheme of a URL, in small letters, however it was written."""
    return url.partition(":")[0].lower()


def demand_options(url: str) -> None:
    """Raise UrlInvalid for an option that a built-in kind of store does not have; the store need not be there."""
    scheme = scheme_of(url)
    if scheme in _BUILT_IN and scheme not in _added:
        import_module(_BUILT_IN[scheme]).demand_options(url)


def is_there(url: str) -> bool:
    """Tell whether a store stands where a URL says; True for kinds of stores that only opening can tell it of."""
    scheme = scheme_of(url)
    if scheme not in _STANDS_AT or scheme in _added:
        return True
    path = path_of(url) / _STANDS_AT[scheme]
    return path.exists() and (scheme != "sqlite" or path.stat().st_size > 0)


def path_of(url: str) -> Path:
    """Give the path of a URL of files. Raises UrlInvalid when it has none."""
    _, _, rest = url.partition(":")
    text = unquote(rest.partition("?")[0].removeprefix("//"))
    if sys.platform == "win32":
        text = text.removeprefix("/")
    if not text.strip("/"):
        raise UrlInvalid(f"{url!r} names no file or folder")
    if "\0" in text:
        raise UrlInvalid(f"{url!r} holds a NUL, which no path can")
    path = Path(text).expanduser()
    return Path("/", *path.parts[1:]) if path.is_absolute() and sys.platform != "win32" else path


def options_of(url: str, *known: str) -> dict[str, str]:
    """Give the options after the question mark of a URL. Raises UrlInvalid for one that is not among the known."""
    _, _, query = url.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    options = {unquote(name): unquote(value) for name, _, value in pairs}
    for name in options.keys() - set(known):
        there_is = f"there is {', '.join(known)}" if known else "there are none"
        raise UrlInvalid(f"{url}: a store of this kind has no option {name}; {there_is}")
    return options
