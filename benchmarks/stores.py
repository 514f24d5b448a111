"""Stores: appending and flushing, opening a long session, listing many, forking."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.figure import Figure, median_seconds
from everlog import Session, open_store
from everlog.session.header import new_header
from everlog.store.chain import START, Batch, link, seal
from everlog.store.durable import DurableSession
from everlog.store.pen import BATCH_EVENTS
from everlog.store.store import Store
from everlog.store.urls import path_of

EVENTS = 100_000
_CHUNKS = 33
_CHUNK = [
    {
        "kind": "text",
        "index": 0,
        "t0": 1_700_000_000_000,
        "dt": [14, 9, 22, 17, 31, 12, 8],
        "parts": ["the next", " few", " words", " of it", " and", " some", " more to come", " after them"],
    }
]


def figures() -> Iterator[Figure]:
    """Give the figures of the stores."""
    with tempfile.TemporaryDirectory(prefix="everlog-bench-") as folder:
        root = Path(folder)
        yield from _appending(root)
        yield _flushing(root)
        for url in (f"sqlite://{root}/long/sessions.db", f"jsonl://{root}/long/lines"):
            yield from _opening(url)
        yield from _forking(root)
        for url in (f"sqlite://{root}/many/sessions.db", f"jsonl://{root}/many/lines"):
            yield _listing(url)
        yield from _sealing()


Told: TypeAlias = "list[tuple[str, dict[str, Any], str | None]]"
"""Events to append: the type, the data, and the surface operation."""


def turn_of(turn: int) -> Told:
    """Give a turn of forty events, two of them on the surface, of 280 bytes each."""
    place = {"turn": turn, "step": 1}
    sent = {**place, "attempt": 1, "adapter": "a", "adapterVersion": "1", "sha256": "0" * 64, "bytes": 9}
    source = {"kind": "model", "provider": "p", "model": "m"}
    return [
        ("turn/start", {"turn": turn}, None),
        ("user/message", _message("user", {"kind": "user"}, 150, turn), "append"),
        ("step/start", place, None),
        ("request/sent", sent, None),
        *[("assistant/chunk", {**place, "attempt": 1, "records": _CHUNK}, None)] * _CHUNKS,
        ("assistant/message", {**place, "message": _message("assistant", source, 900, turn)}, "append"),
        ("step/end", place, None),
        ("turn/end", {"turn": turn, "reason": {"kind": "completed"}}, None),
    ]


def tell(session: Session, turn: Told) -> None:
    """Append the events of a turn."""
    for name, data, surface in turn:
        session.append_json(name, data, surface)


def tell_turn(session: Session) -> None:
    """Append the turn that comes next."""
    tell(session, turn_of(session.ledger.turns.last + 1))


def _message(role: str, source: dict[str, Any], length: int, turn: int) -> dict[str, Any]:
    text = ("the quick brown fox said it again " * 40)[:length]
    return {"id": f"{role}-{turn:06}", "role": role, "content": [{"type": "text", "text": text}], "source": source}


def _appending(root: Path) -> Iterator[Figure]:
    """Live appends with all checks, one flush at the end, against the same bytes by executemany."""
    turns = 500
    ours, theirs = [], []
    for n in range(5):
        data, taken = asyncio.run(_live(f"sqlite://{root}/append{n}/sessions.db", turns))
        ours.append(taken)
        theirs.append(_bare(root / f"bare{n}.db", data))
    ratio = statistics.median(theirs) / statistics.median(ours)
    rate = len(data) / statistics.median(ours)
    note = f"executemany of the same bytes, {BATCH_EVENTS} to a commit, WAL, FULL; {rate:,.0f} events/s"
    yield Figure("live append to SQLite, one flush", ratio, "x", ">= 0.5", note)


async def _live(url: str, turns: int) -> tuple[list[bytes], float]:
    async with open_store(url) as store, await store.create() as session:
        told = [turn_of(turn + 1) for turn in range(turns)]
        start = time.perf_counter()
        for turn in told:
            tell(session, turn)
        await session.flush()
        taken = time.perf_counter() - start
        return [event.to_json() for event in session.events], taken


def _bare(path: Path, data: list[bytes]) -> float:
    """Give how long SQLite takes to store the same rows in batches of the writer's size, as plainly as can be."""
    with closing(_bare_table(path)) as connection:
        rows = list(enumerate(data))
        batches = [rows[start : start + BATCH_EVENTS] for start in range(0, len(rows), BATCH_EVENTS)]
        start = time.perf_counter()
        for batch in batches:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO event VALUES (?, ?)", batch)
            connection.execute("COMMIT")
        return time.perf_counter() - start


def _bare_table(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, data BLOB)")
    return connection


def _flushing(root: Path) -> Figure:
    """One flush per turn, against a commit of the same bytes; turn about, so that both meet the same noise."""
    ours, theirs = asyncio.run(_turns(f"sqlite://{root}/flush/sessions.db", root / "commits.db", 300))
    more = (statistics.median(ours) - statistics.median(theirs)) * 1e3
    note = f"a bare commit of the same bytes, {statistics.median(theirs) * 1e3:.2f} ms"
    return Figure("one flush per turn, more than", more, "ms", "<= 0.4", note)


async def _turns(url: str, bare: Path, turns: int) -> tuple[list[float], list[float]]:
    ours, theirs = [], []
    with closing(_bare_table(bare)) as connection:
        async with open_store(url) as store, await store.create() as session:
            for _ in range(turns):
                first = session.next_seq
                tell_turn(session)
                start = time.perf_counter()
                await session.flush()
                middle = time.perf_counter()
                rows = [(event.seq, event.to_json()) for event in session.events[first:]]
                before = time.perf_counter()
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO event VALUES (?, ?)", rows)
                connection.execute("COMMIT")
                theirs.append(time.perf_counter() - before)
                ours.append(middle - start)
    return ours, theirs


def _opening(url: str) -> Iterator[Figure]:
    """Open a long session up to its first request, against reading all of it."""
    kind = url.partition(":")[0]
    id = asyncio.run(_make_long(url))
    first = min(_measured("open", url, id) for _ in range(3))
    whole = min(_measured("read", url, id) for _ in range(2))
    size = sum(len(data) for data in _records(url, id)) / 1e6
    note = f"reading {EVENTS:,} records ({size:.0f} MB) and json.loads of each, {whole[0] * 1e3:.0f} ms"
    ratio = first[0] / whole[0]
    yield Figure(f"{kind}: open to the first request ({first[0] * 1e3:.0f} ms)", ratio, "x", "<= 0.125", note)
    yield Figure(
        f"{kind}: memory for that", first[1] - _measured("nothing", url, id)[1], "MB", "<= 60", "an empty process"
    )


async def _make_long(url: str) -> str:
    async with open_store(url) as store, await store.create() as session:
        turns = EVENTS // 40
        for n in range(turns):
            if n == 1:
                session.append_json("session/title", {"title": "a long one"})
            tell_turn(session)
            if n % 50 == 0:
                await session.flush()
        return session.id


def _measured(what: str, url: str, id: str) -> tuple[float, float]:
    """Do something in a process of its own; give the seconds and the most megabytes that it took."""
    done = subprocess.run([sys.executable, "-c", _ALONE[what], url, id], check=True, capture_output=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), float(kilobytes) / 1024


# The most memory that the process itself had: `ru_maxrss` would count what it was forked from.
_MEMORY = "[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0]"
_ALONE = {
    "nothing": f"print(0, {_MEMORY})",
    "open": f"""
import asyncio, sys, time
from everlog import open_store
async def main(url, id):
    async with open_store(url) as store:
        start = time.perf_counter()
        session = await store.open(id, "write")
        request = b",".join([message.to_json() for message in session.messages()])
        taken = time.perf_counter() - start
        assert len(session.messages()) == 5000, len(session.messages())
        await session.abandon()
    print(taken, {_MEMORY})
asyncio.run(main(*sys.argv[1:]))
""",
    "read": f"""
import json, sys, time
from everlog.store.urls import opener_of
def main(url, id):
    backend = opener_of(url)(url)
    start = time.perf_counter()
    reader = backend.reader(id)
    count = 0
    for data, seal in reader.read(0, reader.end().next_seq):
        json.loads(data)
        count += 1
    taken = time.perf_counter() - start
    assert count >= {EVENTS}, count
    print(taken, {_MEMORY})
main(*sys.argv[1:])
""",
}


def _records(url: str, id: str) -> Iterator[bytes]:
    from everlog.store.urls import opener_of

    with closing(opener_of(url)(url)) as backend, closing(backend.reader(id)) as reader:
        for record in reader.read(0, reader.end().next_seq):
            yield record.data


def _forking(root: Path) -> Iterator[Figure]:
    taken, grown = asyncio.run(_forks(f"sqlite://{root}/long/sessions.db"))
    yield Figure(f"SQLite: fork of {EVENTS:,} events", taken * 1e3, "ms", "<= 10", "to a session that can be written")
    yield Figure("SQLite: what a fork adds to the disk", grown / 1e3, "KB", "<= 100")


async def _forks(url: str) -> tuple[float, float]:
    path = path_of(url)
    async with open_store(url) as store:
        id = (await store.list(limit=1))[0].id
        times = []
        for _ in range(9):
            start = time.perf_counter()
            child = await store.fork(id)
            times.append(time.perf_counter() - start)
            await child.close()
    before = path.stat().st_size
    async with open_store(url) as store:
        for _ in range(20):
            await (await store.fork(id)).close()
    return statistics.median(times), (path.stat().st_size - before) / 20


def _listing(url: str) -> Figure:
    """A page of many sessions."""
    kind = url.partition(":")[0]
    return asyncio.run(_page(url, kind))


async def _page(url: str, kind: str) -> Figure:
    async with open_store(url) as store:
        _fill(store, 10_000)
        await store.list()
        times = []
        for _ in range(15):
            start = time.perf_counter()
            page = await store.list(50)
            times.append(time.perf_counter() - start)
        assert len(page) == 50
    return Figure(f"{kind}: 50 of 10,000 sessions", statistics.median(times) * 1e3, "ms", "<= 50")


def _fill(store: Store, count: int) -> None:
    """Make many small sessions, as fast as the core can."""
    backend = store.backend
    disk = getattr(backend, "_disk", None)
    if disk is not None:
        disk.sync = disk.sync_folder = lambda *_: None  # what is measured is not durable
    for n in range(count):
        lease = backend.create(new_header(id=f"session-{n:05}"))
        data = [b'{"seq":0,"type":"turn/start","time":1,"data":{"turn":1}}']
        lease.append(Batch(lease.session, 0, START, data, seal(START, data), f"Title {n}", "first words"))
        lease.release()


def _sealing() -> Iterator[Figure]:
    """What the checksum and the chain cost."""
    session: Session | DurableSession = Session.create()
    for _ in range(50):
        tell_turn(session)
    data = [event.to_json() for event in session.events]
    sealed = median_seconds(lambda: seal(START, data), 9)
    plain = median_seconds(lambda: [json.loads(own) for own in data], 9)
    yield Figure(
        "checksum and chain of an event",
        sealed / len(data) * 1e6,
        "µs",
        "",
        f"json.loads: {plain / len(data) * 1e6:.1f} µs",
    )
    seals = seal(START, data)
    checked = median_seconds(
        lambda: [link(START, own) == own_seal for own, own_seal in zip(data, seals, strict=True)], 9
    )
    yield Figure("following the chain by an event", checked / len(data) * 1e6, "µs")
