"""Events that are stored soundly, and that this build still cannot go on from: shown, named, never lost."""

from __future__ import annotations

from contextlib import closing

import pytest

from everlog import SessionCorrupt, open_store
from everlog.session.header import new_header
from everlog.store import chain
from everlog.store.chain import START, Batch
from everlog.store.urls import opener_of

STARTS = b'{"seq":0,"type":"turn/start","time":1,"data":{"turn":1}}'


def keep(url: str, *events: bytes) -> None:
    """Store events as some older or other build may have."""
    with closing(opener_of(url)(url)) as backend:
        lease = backend.create(new_header(id="s"))
        lease.append_synced(Batch("s", 0, START, list(events), chain.seal(START, events)))
        lease.release()


async def test_a_record_that_lacks_a_field_opens_for_reading_and_is_not_lost(url: str) -> None:
    lacks = b'{"seq":1,"type":"turn/end","time":2,"data":{"turn":1}}'
    keep(url, STARTS, lacks)
    async with open_store(url) as store:
        async with await store.open("s") as seen:
            assert seen.events[1].to_json() == lacks
            assert seen.events[1].data == {"turn": 1}
            assert [(broken.seq, broken.rule) for broken in seen.violations] == [(1, "shape")]
        with pytest.raises(SessionCorrupt) as refused:
            await store.open("s", "write")
        assert refused.value.seq == 1
        assert "reason" in str(refused.value)
        report = await store.salvage("s")
        async with await store.open(report.session, "write") as again:
            assert again.events[0].to_json() == STARTS
        async with await store.open("s") as seen:
            assert seen.events[1].to_json() == lacks


@pytest.mark.parametrize("escape", [r"\ud800", r"\uDFFF", r"\ud83d\u0041", r"\ud83d\ud83d\ude00", r"\\\udc00"])
async def test_a_lone_surrogate_in_a_whole_record_is_told_as_what_it_is(url: str, escape: str) -> None:
    odd = b'{"seq":1,"type":"vendor/note","time":2,"data":{"text":"%b"},"ignorable":true}' % escape.encode()
    keep(url, STARTS, odd)
    async with open_store(url) as store:
        with pytest.raises(SessionCorrupt, match="lone surrogate") as refused:
            await store.open("s")
        assert refused.value.seq == 1
        (fault,) = (await store.verify("s")).faults
        assert fault.seq == 1
        assert "lone surrogate" in fault.what
        report = await store.salvage("s")
        assert [lost.seq for lost in report.lost] == [1]


@pytest.mark.parametrize("escape", [r"\ud83d\ude00", r"\\ud800", "é"])
async def test_whole_pairs_and_escaped_backslashes_are_no_lone_surrogates(url: str, escape: str) -> None:
    sound = b'{"seq":1,"type":"vendor/note","time":2,"data":{"text":"%b"},"ignorable":true}' % escape.encode()
    keep(url, STARTS, sound)
    async with open_store(url) as store, await store.open("s") as seen:
        assert seen.events[1].to_json() == sound


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (b'{"seq":1,"type":"turn/end"}', "no event"),
        (b'{"seq":7,"type":"turn/start","time":1,"data":{"turn":1}}', "event 7 stands in its place"),
        (b'["not","an","object"]', "no event"),
    ],
)
async def test_a_record_that_is_no_event_is_refused_with_its_place(url: str, odd: bytes, told: str) -> None:
    after = b'{"seq":2,"type":"turn/end","time":2,"data":{"turn":1,"reason":{"kind":"completed"}}}'
    keep(url, STARTS, odd, after)
    async with open_store(url) as store:
        for mode in ("read", "write"):
            with pytest.raises(SessionCorrupt) as refused:
                await store.open("s", mode)
            assert refused.value.seq == 1
        faults = (await store.verify("s")).faults
        assert faults[0].seq == 1
        if not url.startswith("jsonl"):
            assert told in str(faults[0])
        report = await store.salvage("s")
        async with await store.open(report.session) as seen:
            assert seen.events[2].to_json() == after


async def test_an_event_that_a_reader_may_skip_stops_nobody(url: str) -> None:
    odd = b'{"seq":1,"type":"vendor/new","time":2,"data":[1,2],"ignorable":true,"later":{"key":"kept"}}'
    keep(url, STARTS, odd)
    async with open_store(url) as store, await store.open("s", "write") as session:
        assert session.events[1].to_json() == odd
        assert session.events[2].type == "turn/end"
