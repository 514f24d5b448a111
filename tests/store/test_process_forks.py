"""A process that is forked while it writes: the child is refused at once, and the parent goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from everlog import open_store

FORKS = """
import asyncio, os, sys
from everlog import StoreError, open_store

def refused(work):
    try:
        work()
    except StoreError:
        return True
    return False

async def main(url):
    async with open_store(url) as store, await store.create({"id": "one"}) as session:
        session.append_json("vendor/x", 1, ignorable=True)
        await session.flush()
        child = os.fork()
        if child == 0:
            try:
                appended = refused(lambda: session.append_json("vendor/x", 2, ignorable=True))
                flushed = refused(lambda: asyncio.run(session.flush()))
                os._exit(0 if appended and flushed else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        session.append_json("vendor/x", 3, ignorable=True)
        await session.flush()
        [listed] = await store.list()
        assert listed.holder is not None

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_the_child_is_refused_and_the_parent_goes_on(disk_url: str) -> None:
    subprocess.run([sys.executable, "-c", FORKS, disk_url], check=True, timeout=120)
    asyncio.run(found(disk_url))


async def found(url: str) -> None:
    async with open_store(url) as store:
        log = await store.open("one", "read")
        assert [event.data for event in log.events] == [1, 3]
        assert (await store.verify("one")).sound
