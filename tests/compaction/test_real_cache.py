"""A real llama.cpp server reads what it has in its cache, before a compaction, for its summary, and after it."""

from __future__ import annotations

import pytest
from tests.agent.stage import BARE, endings, payloads
from tests.peers.llamacpp import CONTEXT, LlamaCpp

from everlog.harness import Harness
from everlog.kernel import Config
from everlog.session.payloads import Usage
from everlog.session.rules import check

pytestmark = pytest.mark.slow

FOXES = "The quick brown fox jumps over the lazy dog while the old farmer counts his sheep. " * 5
"""About a hundred tokens."""


def lab(server: LlamaCpp) -> str:
    return (
        f'[provider.lab]\nprotocol = "openai-chat"\nbase_url = "{server.openai_url}"\nneeds_key = false\n'
        'dialect = { developer = "user", max_tokens = "max_tokens" }\n'
        'options = { max_tokens = 12, temperature = 0, seed = 7, extra = { stop = ["."] } }\n'
        f'[model."lab/smollm2"]\ncontext_window = {CONTEXT}\n'
        "[plugin.compaction]\ncompact_at = 0.5\naim_for = 0.35\nkeep_recent = 0.15\n"
    )


def share(usage: Usage) -> float:
    """How much of the input came from the cache."""
    return usage.cache_read_tokens / (usage.cache_read_tokens + usage.input_tokens)


async def test_the_cache_serves_the_turns_the_summary_and_the_turns_after_it(llamacpp: LlamaCpp) -> None:
    async with Harness(Config.parse(BARE + lab(llamacpp)), "memory:") as harness:
        agent = await harness.agents.create("lab/smollm2")
        for number in range(9):
            agent.followup(f"{number}: {FOXES} Say yes.")
            await agent.when_idle()
        log = agent.session
        assert {"error"}.isdisjoint(endings(log))
        landed = next(event.seq for event in log.events if event.type == "compaction/summary")
        answers = [event for event in log.events if event.type == "assistant/message"]
        before = [share(event.data.usage) for event in answers if event.seq < landed]  # type: ignore[union-attr]
        after = [share(event.data.usage) for event in answers if event.seq > landed]  # type: ignore[union-attr]
        summary = share(payloads(log, "compaction/summary")[0].usage)
        print(f"cache reads before {before}, of the summary request {summary:.2f}, after {after}")
        assert before[0] < before[1] < before[-1]
        assert before[-1] > 0.8
        assert summary > 0.6, "the summary request finds the conversation in the cache"
        assert 0 < after[0] < before[-1], "the system prompt is what the rewritten view shares with the old one"
        assert after[1] > after[0]
        assert check(log) == []
