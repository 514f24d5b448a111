"""The check behind every test that has an agent: what was sent follows from the stored log, and from it alone.

A `Witness` sees each body on its way out, innermost, where the adapter takes it. When the test is over, the log
is read back from its store (or, where that is gone, from the bytes of its events), every request is derived from
it again, and the bodies are compared byte for byte: with what the adapter took, and with what a server received.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from everlog.agent.attempt import Attempt
from everlog.agent.factory import LoopFactory
from everlog.agent.live import LiveAgent
from everlog.agent.seam import Outgoing, SideOutgoing
from everlog.agent.side import Try
from everlog.llm.media import media_of
from everlog.llm.seam import BlobReader, Encoder
from everlog.llm.wire import check_wire
from everlog.session import Recording, read_event, read_header
from everlog.session.log import Log
from everlog.session.payloads import RequestSent, RequestSide
from everlog.session.records import Delta
from everlog.session.request import Request
from everlog.store import DurableSession, SessionNotFound, open_store

Key = tuple[int, int, int] | str
"""An attempt, or the id of a side request."""
_WITHOUT_HTTP = ("script", "rerun")


@dataclass
class Seen:
    """One session that an agent ran in the test, and the bodies that went out for it."""

    log: Log
    url: str
    bodies: dict[Key, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    over_http: list[bytes] = field(default_factory=list)


class Witness:
    """Watches the agents of one test. Sessions are known by their store and id."""

    def __init__(self) -> None:
        self.sessions: dict[tuple[object, str], Seen] = {}
        self.encoders: dict[str, Encoder] = {}
        self._of: dict[int, Seen] = {}

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Begin to watch every agent that is made from now on."""
        made, sent, asked = LoopFactory._make, Attempt._send, Try._send
        witness = self

        async def make(factory: LoopFactory, session: Any, *rest: Any) -> LiveAgent:
            store = factory._store
            place = store if store.url.startswith("memory:") else store.url
            seen = witness.sessions.setdefault((place, session.id), Seen(session, store.url))
            seen.log = session
            witness._of[id(session)] = seen
            return await made(factory, session, *rest)

        async def send(attempt: Attempt, outgoing: Outgoing) -> AsyncIterator[Delta]:
            stream = await sent(attempt, outgoing)
            key = attempt.turn, attempt.step, attempt.number
            witness.note(attempt._session, key, attempt._route.adapter, attempt._body, attempt._request)
            return stream

        async def ask(side: Try, outgoing: SideOutgoing) -> AsyncIterator[Delta]:
            stream = await asked(side, outgoing)
            witness.note(side._aside.session, side._id, side._aside.route.adapter, side._body, side._request)
            return stream

        patch.setattr(LoopFactory, "_make", make)
        patch.setattr(Attempt, "_send", send)
        patch.setattr(Try, "_send", ask)

    def note(self, session: object, key: Key, adapter: Encoder, body: bytes, request: Request) -> None:
        """Take note of a body that goes out. A session that no agent runs is another test's matter."""
        self.encoders[adapter.name] = adapter
        seen = self._of.get(id(session))
        if seen is not None:
            seen.bodies[key] = body
            if seen.url.startswith("memory:") and isinstance(session, DurableSession):
                seen.blobs |= _blobs_of(request, session.blobs)
            if adapter.name not in _WITHOUT_HTTP:
                seen.over_http.append(body)

    def compare(self, received: Iterable[bytes] | None) -> None:
        """Compare everything that was sent with what the stored logs give; `received` is what a server got."""
        for (_, id), seen in self.sessions.items():
            self._compare(id, seen)
        if received is not None:
            sent = [body for seen in self.sessions.values() for body in seen.over_http]
            assert sorted(received) == sorted(sent), "what the server received is not what the logs rebuild"

    def _compare(self, id: str, seen: Seen) -> None:
        log = _in_a_thread(_stored(id, seen))
        found = {}
        for check in check_wire(log, self.encoders.get, Held(seen.blobs)):
            if check.sent.adapter not in self.encoders:
                continue
            assert check.matches, f"session {id}: {check.difference}"
            found[_key(check.sent)] = check.body or b""
        for key, body in seen.bodies.items():
            assert found[key] == body, f"session {id}: the body of {key} is not what its log rebuilds"
            assert not any(body in event.data_json for event in log.events), f"session {id}: an event holds a body"


def _key(sent: RequestSent | RequestSide) -> Key:
    return sent.id if isinstance(sent, RequestSide) else (sent.turn, sent.step, sent.attempt)


class Held:
    """Blobs that were read back."""

    def __init__(self, blobs: dict[str, bytes]) -> None:
        self._blobs = blobs

    def get(self, blob: str) -> bytes:
        return self._blobs[blob]


def _blobs_of(request: Request | None, blobs: BlobReader) -> dict[str, bytes]:
    found = {}
    for medium in media_of(request.messages if request else ()):
        with suppress(LookupError):
            found[medium.blob] = blobs.get(medium.blob)
    return found


async def _stored(id: str, seen: Seen) -> Log:
    """Read a log and its blobs back from its store, or from the bytes of its events where the store is gone."""
    if not seen.url.startswith("memory:"):
        try:
            async with open_store(seen.url) as store, await store.open(id, "read") as log:
                read = _again(log)
                for found in read.project("request").values():
                    seen.blobs |= _blobs_of(found.request, log.blobs)
                return read
        except SessionNotFound:
            pass  # the test deleted it
    return _again(seen.log)


def _again(log: Log) -> Recording:
    header = read_header(log.header.to_json())
    return Recording(header, [read_event(event.to_json()) for event in log.events])


def _in_a_thread(work: Coroutine[Any, Any, Log]) -> Log:
    """Run a coroutine on an event loop of its own, beside the one that the tests have."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@contextmanager
def witnessed(received: Callable[[], Iterable[bytes]] | None) -> Any:
    """Watch the agents of the block, and compare when it is over."""
    witness = Witness()
    with pytest.MonkeyPatch.context() as patch:
        witness.watch(patch)
        yield witness
    if witness.sessions:
        witness.compare(received() if received else None)
