"""A whole log that was made elsewhere is kept as it is."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.session.stories import Story, plain_turn

from everlog import Session, open_store
from everlog.session.event import read_event
from everlog.session.header import new_header, read_header
from everlog.session.jsonvalue import encode
from everlog.store import chain
from everlog.store.backend import End
from everlog.store.chain import START, Batch
from everlog.store.errors import BatchRefused, RecordingOnly, SessionExists
from everlog.store.urls import opener_of


def told() -> Session:
    story = Story()
    plain_turn(story, "find the bug")
    story.session.append_json("session/title", {"title": "A bug", "source": {"kind": "user"}})
    return story.session


async def test_it_has_the_same_bytes_and_goes_on(url: str) -> None:
    log = told()
    async with open_store(url) as store:
        await store.add(log.header, log.events)
        async with await store.open(log.id, "write") as session:
            assert [event.to_json() for event in session.events] == [event.to_json() for event in log.events]
            plain_turn(Story(session))
        found = await store.open(log.id)
        assert found.ledger.turns.last == 2


async def test_it_is_listed_with_its_title_and_found_by_its_text(url: str) -> None:
    log = told()
    async with open_store(url) as store:
        await store.add(log.header, log.events)
        [summary] = await store.list()
        assert (summary.title, summary.preview, summary.events) == ("A bug", "find the bug", log.next_seq)
        assert [hit.session for hit in await store.search("find the bug")] == [log.id]


async def test_a_taken_id_is_refused_and_changes_nothing(url: str) -> None:
    log = told()
    async with open_store(url) as store:
        await store.add(log.header, log.events)
        with pytest.raises(SessionExists):
            await store.add(log.header, [])
        assert (await store.open(log.id)).stored == log.next_seq


async def test_what_fails_half_way_leaves_nothing(url: str) -> None:
    log = told()
    events = list(log.events)

    def half() -> object:
        yield from events[:2]
        raise OSError("the source went away")

    async with open_store(url) as store:
        with pytest.raises(OSError, match="went away"):
            await store.add(log.header, half())  # type: ignore[arg-type]
        assert await store.list() == []


async def test_a_recording_opens_for_reading_only(url: str) -> None:
    log = told()
    header = read_header(encode({**log.header.value(), "origin": "import", "recording": True}))
    async with open_store(url) as store:
        await store.add(header, log.events)
        with pytest.raises(RecordingOnly, match="not gone on with"):
            await store.open(log.id, "write")
        assert (await store.open(log.id)).header.recording


async def test_a_recording_can_be_forked_before_the_event_that_breaks_a_rule(url: str) -> None:
    log = told()
    broken = read_event(b'{"seq":%d,"type":"step/end","time":1,"data":{"turn":9,"step":9}}' % log.next_seq)
    header = read_header(encode({**log.header.value(), "origin": "import", "recording": True}))
    async with open_store(url) as store:
        await store.add(header, [*log.events, broken])
        with pytest.raises(RecordingOnly):
            await store.fork(log.id)
        async with await store.fork(log.id, at=log.next_seq - 1) as child:
            plain_turn(Story(child))


async def test_events_that_are_spelled_in_another_way_are_kept_as_lines_whatever_stands_in_them(url: str) -> None:
    spelled = [
        b'{"seq": 0,\n "type": "session/title", "time": 1, "data": {"title":\r\n"a"}}',
        b' {"type":"session/title","beside":{"n":1.50},"time":1,"data":{"title":"b"},"seq":1}\n',
    ]
    async with open_store(url) as store:
        await store.add(new_header(id="s"), [read_event(own) for own in spelled])
        found = await store.verify("s")
        assert (found.sound, found.events) == (True, 2)
        async with await store.open("s") as seen:
            assert [json.loads(event.to_json()) for event in seen.events] == [json.loads(own) for own in spelled]
            assert b'"beside":{"n":1.50}' in seen.events[1].to_json()
            assert seen.project("title") == "b"


async def test_events_that_are_not_numbered_one_by_one_are_refused(url: str) -> None:
    log = told()
    async with open_store(url) as store:
        with pytest.raises(ValueError, match="event 2 stands where event 1 should"):
            await store.add(log.header, [log.events[0], *log.events[2:]])
        assert await store.list() == []


async def test_a_batch_whose_events_are_no_lines_is_refused_by_a_store_of_lines(tmp_path: Path) -> None:
    event = b'{"seq":0,"type":"session/title","time":1,"data":{"title":\n"a"}}'
    for option in ("", "?compression=zstd"):
        with closing(opener_of("jsonl:")(f"jsonl://{tmp_path}/{len(option)}{option}")) as backend:
            lease = backend.create(new_header(id="s"))
            with pytest.raises(BatchRefused, match="line break"):
                lease.append_synced(Batch("s", 0, START, [event], chain.seal(START, [event])))
            lease.release()
            assert backend.reader("s").end() == End(0, START)
