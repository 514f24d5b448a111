"""Agents over HTTP, against a server that nobody here wrote; what it received is rebuilt from the log afterwards."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.agent.stage import BARE, call, endings, offering, payloads, said, types, until
from tests.agent.test_loop import poke
from tests.peers.aimock import Aimock

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.script import scripted
from everlog.session.messages import Image, Text, user_message
from everlog.session.rules import check
from everlog.store.seam import DurableSession

MODEL = "lab/some-model"


def configured(server: Aimock, more: str = "") -> Config:
    return Config.parse(f'[provider.lab]\nbase_url = "{server.openai_url}"\nneeds_key = false\n{more}')


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"toolCalls": [{"name": name, "arguments": arguments} for name, arguments in wanted]}


async def test_a_task_with_two_parallel_calls_and_a_second_turn(aimock: Aimock, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "b.txt").write_text("beta\n")
    aimock.answer(
        calls(("read", {"file_path": "a.txt"}), ("read", {"file_path": "b.txt"})),
        {"content": "They hold alpha and beta."},
        {"content": "You are welcome."},
    )
    async with Harness(configured(aimock), f"sqlite://{tmp_path}/sessions.db") as harness:
        agent = await harness.agents.create(MODEL, cwd=tmp_path)
        agent.followup("What do a.txt and b.txt hold?")
        await agent.when_idle()
        agent.followup("Thanks.")
        await agent.when_idle()
        assert endings(agent.session) == ["completed", "completed"]
        lines = said(agent.session)
        assert "alpha" in lines[2]
        assert "beta" in lines[3]
        assert lines[4:] == [
            "assistant: They hold alpha and beta.",
            "user: Thanks.",
            "assistant: You are welcome.",
        ]
        assert len(aimock.bodies) == 3
        assert check(agent.session) == []


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_a_refusing_server_ends_the_turn_and_leaves_the_session_sound(aimock: Aimock, status: int) -> None:
    aimock.answer({"content": "fine"})
    async with Harness(configured(aimock, '[plugins]\ndisable = ["retry"]\n'), "memory:") as harness:
        agent = await harness.agents.create(MODEL)
        aimock.fail_next(status, "no way")
        agent.followup("one")
        await agent.when_idle()
        [end] = payloads(agent.session, "turn/end")
        assert (end.reason.kind, end.reason.error.status) == ("error", status)
        agent.followup("two")
        await agent.when_idle()
        assert said(agent.session) == ["user: one", "user: two", "assistant: fine"]


async def test_a_cancel_closes_the_connection(aimock: Aimock) -> None:
    aimock.answer({"content": "word " * 200, "chunkSize": 5, "latency": 20})
    async with Harness(configured(aimock), "memory:") as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: "assistant/chunk" in types(agent.session))
        agent.cancel()
        await agent.when_idle()
        assert endings(agent.session) == ["aborted"]
        assert said(agent.session)[1].startswith("assistant: word")
        await asyncio.to_thread(aimock.wait_for_break)


async def test_a_session_goes_on_with_another_model_and_another_provider(aimock: Aimock, tmp_path: Path) -> None:
    aimock.answer({"content": "fine", "reasoning": "hm"})
    store = f"sqlite://{tmp_path}/sessions.db"
    plugins = [scripted({"it": [[{"reasoning": "well"}, call("poke")], "done", "-", "bye"]}), offering([poke])]
    config = configured(aimock, BARE)
    async with Harness(config, store, plugins) as harness:
        async with await harness.agents.create("script/it") as agent:
            agent.followup("one")
            await agent.when_idle()
        async with await harness.agents.resume(agent.id, model=MODEL) as again:
            again.followup("two")
            await again.when_idle()
            assert said(again.session)[-1] == "assistant: fine"
            headers = payloads(again.session, "request/header")
            assert [(h.reason, h.header.config["provider"]) for h in headers] == [
                ("initial", "script"),
                ("resume", "lab"),
            ]
            again.use_model("script/it")
            again.followup("three")
            await again.when_idle()
            assert said(again.session)[-1] == "assistant: bye"
            assert payloads(again.session, "request/header")[-1].reason == "change"


async def test_an_image_goes_out_with_its_content_and_is_rebuilt_from_its_blob(aimock: Aimock, tmp_path: Path) -> None:
    aimock.answer({"content": "A dot."})
    async with Harness(configured(aimock), f"sqlite://{tmp_path}/sessions.db") as harness:
        agent = await harness.agents.create(MODEL)
        assert isinstance(agent.session, DurableSession)
        picture = agent.session.blobs.put(b"\x89PNG not really")
        agent.followup(user_message([Text(text="What is it?"), Image(blob=picture, media_type="image/png")]))
        await agent.when_idle()
        assert said(agent.session)[-1] == "assistant: A dot."
        assert b"data:image/png;base64," in aimock.bodies[0]
