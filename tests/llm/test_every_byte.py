"""One long session over every protocol: each body that a server received is derived again in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.peers.aimock import Aimock

from everlog.agent.seam import Agent
from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.seam import Models
from everlog.llm.wire import check_wire
from everlog.session.live import Session

EVERLOG = Path(sys.executable).with_name("everlog")
TURNS = ("turn-alpha", "turn-beta", "turn-gamma", "turn-delta")
BUSY = {"error": {"message": "busy"}, "status": 503}


def configured(aimock: Aimock) -> Config:
    shared = 'needs_key = false\nheaders = { Authorization = "Bearer secret-header-value" }\n'
    return Config.parse(
        f'[provider.chat]\nbase_url = "{aimock.openai_url}"\n{shared}options = {{ seed = 3, prompt_cache_key = "k" }}\n'
        f'[provider.responses]\nprotocol = "openai-responses"\nbase_url = "{aimock.openai_url}"\n{shared}'
        'options = { reasoning_effort = "low" }\n'
        f'[provider.messages]\nprotocol = "anthropic-messages"\nbase_url = "{aimock.url}"\n{shared}'
        'options = { cache = true, thinking = { type = "enabled", budget_tokens = 1024 } }\n'
        "[plugin.retry]\nfirst_wait = 0.001\njitter = 0.0\n"
        '[permissions]\nmode = "full"\n'
    )


def prepare(aimock: Aimock) -> None:
    """Each turn: a call that must be made again because the server is busy, then the answer, with reasoning."""
    for prompt in TURNS:
        call = {"name": "write", "arguments": json.dumps({"file_path": f"{prompt}.txt", "content": "é\u2028"})}
        thinks = {"reasoning": f"About {prompt}.", "reasoningSignature": "c2lnbmVk"}
        aimock.answer(
            BUSY, {"content": "I write.", "toolCalls": [call], **thinks}, userMessage=prompt, hasToolResult=False
        )
        aimock.answer(
            {"content": f"{prompt} is done. " + "word " * 3000, "chunkSize": 2000, **thinks},
            userMessage=prompt,
            hasToolResult=True,
        )
    aimock.answer({"content": "A summary of what was done."})


async def ask(agent: Agent, prompt: str) -> None:
    agent.followup(prompt)
    await agent.when_idle()
    assert agent.session.events[-1].type == "turn/end"


@pytest.mark.slow
async def test_retries_model_changes_replaces_and_a_resume(aimock: Aimock, tmp_path: Path) -> None:
    prepare(aimock)
    store, work = f"sqlite:///{tmp_path / 's.db'}", tmp_path / "work"
    work.mkdir()
    async with Harness(configured(aimock), store=store) as harness:
        agent = await harness.agents.create("messages/m", cwd=work)
        await ask(agent, TURNS[0])
        agent.use_model("responses/m")
        await ask(agent, TURNS[1])
        await agent.compact()
        agent.use_model("chat/m")
        await ask(agent, TURNS[2])
        id = agent.session.id
    async with Harness(configured(aimock), store=store) as harness:
        agent = await harness.agents.resume(id, model="messages/m")
        await ask(agent, TURNS[3])
        log = agent.session
        checks = list(check_wire(log, harness.kernel[Models].encoder))
    assert {check.sent.adapter for check in checks} == {"openai-chat", "openai-responses", "anthropic-messages"}
    assert [check.difference for check in checks] == [None] * len(checks)
    assert sorted(check.body or b"" for check in checks) == sorted(aimock.bodies)
    assert len([check for check in checks if check.request.endswith(".1.2")]) == 4, "each turn began with a retry"
    assert any(check.request.startswith("side ") for check in checks), "the summary was a side request"
    _holds_no_secret(log)
    _in_fresh_processes(store, log, aimock.bodies, tmp_path)


def _holds_no_secret(log: Session) -> None:
    assert not any(b"secret-header-value" in event.to_json() for event in log.events)


def _in_fresh_processes(store: str, log: Session, received: list[bytes], folder: Path) -> None:
    """What `request --wire` writes is what the server received; the configuration of the endpoints is not there."""
    empty = folder / "empty.toml"
    empty.write_text("")
    environment = {**os.environ, "EVERLOG_CONFIG": str(empty), "EVERLOG_STORE": store}
    for step, body in [("1.1.1", received[0]), ("4.2.1", received[-1])]:
        command = [str(EVERLOG), "request", log.id, "--step", step, "--wire"]
        done = subprocess.run(command, capture_output=True, env=environment, check=True)
        assert done.stdout == body
