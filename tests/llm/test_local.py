"""A model file is served within the process, and everything about its requests is as with any endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.llm.asking import READ, answered, ask, service
from tests.peers.llamacpp import TEMPLATE
from tests.peers.model import model_file

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.local import local
from everlog.llm.seam import ModelFailure, Models, UnknownModel
from everlog.llm.wire import check_wire
from everlog.session.payloads import TurnEnd

SMALL = f'[plugin.local]\ncontext = 2048\nthreads = 1\nchat_template = "{TEMPLATE}"\n'
BRIEF = {"maxTokens": 6, "temperature": 0}


@pytest.mark.slow
async def test_a_file_is_loaded_once_and_answers_with_text_and_calls() -> None:
    async with service(SMALL, local) as models:
        route = models.resolve(f"local/{model_file()}", BRIEF)
        text = await ask(route, "Say hello.")
        other = models.resolve(f"local/{model_file()}", {**BRIEF, "maxTokens": 40, "toolChoice": "required"})
        calls = await ask(other, "Read the file a.txt.", answered("<tool_call>\n"), tools=[READ])
    assert other.adapter is route.adapter
    assert route.context_window == 2048
    assert text.message.text
    assert text.usage is not None
    assert text.usage.output_tokens > 0
    assert calls.message.calls[0].name == "read"


@pytest.mark.slow
async def test_an_agent_runs_on_it_and_its_bodies_are_derived_again(tmp_path: Path) -> None:
    config = Config.parse(f'{SMALL}[model."local/{model_file()}"]\noptions = {{ max_tokens = 4 }}\n')
    async with Harness(config, store="memory:") as harness:
        agent = await harness.agents.create(f"local/{model_file()}", cwd=tmp_path)
        agent.followup("hi")
        await agent.when_idle()
        checks = list(check_wire(agent.session, harness.kernel[Models].encoder))
        end = agent.session.events[-1].data
    assert isinstance(end, TurnEnd)
    assert [check.difference for check in checks] == [None] * len(checks)
    assert checks


async def test_what_is_no_model_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    async with service("", local) as models:
        with pytest.raises(UnknownModel, match="No such file"):
            models.resolve(f"local/{tmp_path}/none.gguf")
        with pytest.raises(UnknownModel, match="that is no GGUF file"):
            models.resolve(f"local/{tmp_path}/notes.txt")


async def test_a_broken_model_file_is_one_clear_failure(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(64))
    async with service("", local) as models:
        with pytest.raises(ModelFailure, match="cannot be loaded"):
            await ask(models.resolve(f"local/{path}"), "hi")
