"""A body that was sent can be derived again, byte for byte, from the log alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.peers.aimock import Aimock

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.openai.chat import ChatEncoder
from everlog.llm.seam import BlobReader, Models
from everlog.llm.wire import check_wire, wire_of_attempt
from everlog.session.messages import Image, Text, user_message
from everlog.session.request import Request

TWO_READS = [
    {"id": "call_a", "name": "read", "arguments": '{"file_path": "a.txt"}'},
    {"id": "call_b", "name": "read", "arguments": '{"file_path": "b.txt"}'},
]


def lab(aimock: Aimock, more: str = "") -> Config:
    table = f'base_url = "{aimock.openai_url}"\nneeds_key = false\n'
    return Config.parse(f"[provider.lab]\n{table}{more}[provider.other]\n{table}options = {{ temperature = 0.5 }}")


class Later(ChatEncoder):
    """The encoder of a later version, whose bytes differ."""

    version = "2+openai-99"

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        return super().encode(request, blobs) + b" "


async def test_every_body_that_the_server_received_is_derived_again_from_the_log(
    aimock: Aimock, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("A")
    (tmp_path / "b.txt").write_text("B")
    aimock.answer({"content": "Reading.", "toolCalls": TWO_READS}, userMessage="go", hasToolResult=False)
    aimock.answer({"content": "Done."}, userMessage="go", hasToolResult=True)
    aimock.answer({"content": "Again."}, userMessage="more")
    store = f"sqlite:///{tmp_path / 's.db'}"
    async with Harness(lab(aimock), store=store) as harness:
        agent = await harness.agents.create("lab/m", cwd=tmp_path)
        agent.followup("go")
        await agent.when_idle()
        agent.use_model("other/m2")
        agent.followup("more")
        await agent.when_idle()
        id = agent.session.id
    async with Harness(Config(), store=store) as elsewhere:
        models = elsewhere.kernel[Models]
        log = await elsewhere.store.open(id, "read")
        checks = list(check_wire(log, models.encoder))
    assert [check.difference for check in checks] == [None, None, None]
    assert [check.body for check in checks] == aimock.bodies
    assert [check.request for check in checks] == ["1.1.1", "1.2.1", "2.1.1"]
    stored = b"".join(event.to_json() for event in log.events)
    assert not any(body in stored for body in aimock.bodies), "no event stores a body"


async def test_a_difference_names_the_recorded_and_the_present_version(aimock: Aimock, tmp_path: Path) -> None:
    aimock.answer({"content": "ok"})
    async with Harness(lab(aimock), store="memory:") as harness:
        agent = await harness.agents.create("lab/m", cwd=tmp_path)
        agent.followup("go")
        await agent.when_idle()
        log = agent.session
        same = wire_of_attempt(log, 1, 1, 1, harness.kernel[Models].encoder)
        later = wire_of_attempt(log, 1, 1, 1, lambda name: Later())
        gone = wire_of_attempt(log, 1, 1, 1, lambda name: None)
    assert same.matches
    assert later.difference is not None
    assert f"sent by openai-chat {same.version}" in later.difference
    assert "version 2+openai-99 makes" in later.difference
    assert gone.difference is not None
    assert "no plugin here brings an adapter 'openai-chat'" in gone.difference
    with pytest.raises(KeyError):
        wire_of_attempt(log, 1, 1, 2, lambda name: Later())


async def test_images_are_derived_again_from_the_blobs_and_old_ones_as_stubs(aimock: Aimock, tmp_path: Path) -> None:
    aimock.answer({"content": "I see."})
    store, config = f"sqlite:///{tmp_path / 's.db'}", lab(aimock, "options = { media_budget = 100_000 }\n")
    async with Harness(config, store=store) as harness:
        agent = await harness.agents.create("lab/m", cwd=tmp_path)
        for number in range(6):
            blob = harness.store.blobs.put(bytes([number]) * 30_000)
            agent.followup(user_message([Text(text="Look."), Image(blob=blob, media_type="image/png")]))
            await agent.when_idle()
        id = agent.session.id
    async with Harness(Config(), store=store) as elsewhere:
        log = await elsewhere.store.open(id, "read")
        checks = list(check_wire(log, elsewhere.kernel[Models].encoder, log.blobs))
        blind = list(check_wire(log, elsewhere.kernel[Models].encoder))
    assert [check.difference for check in checks] == [None] * 6
    assert [check.body for check in checks] == aimock.bodies
    assert all(len(body) < 120_000 for body in aimock.bodies)
    assert aimock.bodies[-1].count(b"left out of this request") >= 3
    assert blind[0].difference is not None
    assert "no blob store" in blind[0].difference
