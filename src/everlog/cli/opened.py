"""Opens the store and the sessions that a command names: by id, by a unique beginning of one, or the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from everlog.cli.faults import NothingThere, UsageFault
from everlog.cli.settings import existing_url, load_config, store_url
from everlog.declared import vocabulary_for_looking
from everlog.errors import EverlogError
from everlog.session.jsonvalue import scrub
from everlog.store.memory import MemoryBackend
from everlog.store.seam import SessionNotFound, Store, StoredRecording, Summary
from everlog.store.store import open_store

_PAGE = 1000


class AmbiguousSession(EverlogError):
    """The beginning of an id that several sessions have.

    Attributes:
        given: what was given.
        found: the ids that begin so.
    """

    def __init__(self, given: str, found: list[str], trashed: bool = False) -> None:
        some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
        where = " in the trash" if trashed else ""
        super().__init__(f"{len(found)} sessions{where} begin with {given}: {some}; give more of the id")
        self.given = given
        self.found = found


@asynccontextmanager
async def stored(given: str | None) -> AsyncIterator[Store]:
    """Open the store that a URL names, else the configuration, else the default one; none is made.

    Raises:
        StoreError: no store is where the URL says. Where none was named there may be none yet: it has no sessions.
    """
    config = load_config()
    url = existing_url(given, config)
    if url is None:
        async with Store(MemoryBackend(store_url(given, config)), vocabulary_for_looking(config)) as nothing:
            yield nothing
        return
    async with open_store(url, vocabulary=vocabulary_for_looking(config)) as store:
        yield store


@asynccontextmanager
async def begun(given: str | None) -> AsyncIterator[Store]:
    """Open a store as `stored` does, and make it when there is none."""
    config = load_config()
    async with open_store(store_url(given, config), vocabulary=vocabulary_for_looking(config)) as store:
        yield store


@asynccontextmanager
async def reading(url: str | None, given: str | None, last: bool) -> AsyncIterator[StoredRecording]:
    """Open a session for reading."""
    async with stored(url) as store, await store.open(await find_id(store, given, last), "read") as log:
        yield log


@dataclass(frozen=True)
class Standing:
    """What has to be known of a session before an agent opens it for writing.

    Attributes:
        id: its id.
        cwd: the folder that it works in, or None.
        asked: whether it asked a model before.
        waits: whether there is input that was not yet taken up.
    """

    id: str
    cwd: Path | None
    asked: bool
    waits: bool


async def look(url: str | None, given: str | None, last: bool) -> Standing:
    """Find a session and look at it; nothing is changed."""
    async with reading(url, given, last) as log:
        folder = None if log.header.cwd is None else Path(log.header.cwd)
        return Standing(log.id, folder, log.request_header() is not None, len(log.project("inbox")) > 0)


async def find_id(store: Store, given: str | None, last: bool) -> str:
    """Give the id of the session that was named.

    Raises:
        UsageFault: none was named, or one and `--last`.
        NothingThere: the last one was asked for, and there is none.
        SessionNotFound: there is none like that.
        AmbiguousSession: there are several.
    """
    if last:
        if given is not None:
            raise UsageFault(f"give the session {given} or --last, not both")
        newest = await store.list(limit=1)
        if not newest:
            raise NothingThere(f'no session is stored in {store.url}; begin one with `everlog run "…"`')
        return newest[0].id
    if not given:
        raise UsageFault("name a session (`everlog sessions` lists them), or take the last one with --last")
    if scrub(given) != given:  # bytes that are no text, which no id holds
        raise SessionNotFound(given)
    return given if await is_there(store, given) else await _by_beginning(store, given)


async def is_there(store: Store, id: str) -> bool:
    """Tell whether a session has this whole id: most commands are given one, and need not list the others."""
    try:
        await asyncio.to_thread(store.backend.demand, id)
    except SessionNotFound:
        return False
    return True


async def _by_beginning(store: Store, given: str) -> str:
    for trashed in (False, True):
        found = [summary.id async for summary in every(store, trashed) if summary.id.startswith(given)]
        if given in found:
            return given
        if len(found) > 1:
            raise AmbiguousSession(given, found, trashed)
        if found:
            return found[0]  # of one in the trash the store says how to bring it back
    return given


async def every(store: Store, trashed: bool = False) -> AsyncIterator[Summary]:
    """Give all sessions, those used last first."""
    after: str | None = None
    while True:
        page = await store.list(limit=_PAGE, after=after, trashed=trashed)
        for summary in page:
            yield summary
        if len(page) < _PAGE:
            return
        after = page[-1].cursor


__all__ = [
    "AmbiguousSession",
    "SessionNotFound",
    "Standing",
    "begun",
    "every",
    "find_id",
    "is_there",
    "look",
    "reading",
    "stored",
]
