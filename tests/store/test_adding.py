"""A whole log that was made elsewhere is kept as it is."""

from __future__ import annotations

import pytest
from tests.session.stories import Story, plain_turn

from everlog import Session, open_store
from everlog.session.event import read_event
from everlog.session.header import read_header
from everlog.session.jsonvalue import encode
from everlog.store.errors import RecordingOnly, SessionExists


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
