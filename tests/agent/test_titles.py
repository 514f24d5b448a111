"""A session has a title from its first prompt at once, and a better one by a model without anybody waiting for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agent.stage import payloads, types, until

from everlog.agent.titles import MAX_TITLE, short
from everlog.harness import Harness
from everlog.kernel import Config
from everlog.llm.script import Answer, scripted
from everlog.session.payloads import SessionTitle
from everlog.session.rules import check
from everlog.session.views import json_raw

BARE = '[plugins]\ndisable = ["builtin-tools", "facts", "told-permissions"]\n'
NAMER = BARE + '[plugin.titles]\nmodel = "script/namer"\n'


def harness(namer: list[Answer], config: str = NAMER, answers: Any = ("a", "b")) -> Harness:
    return Harness(Config.parse(config), "memory:", [scripted({"it": list(answers), "namer": namer})])


async def test_the_first_prompt_gives_the_title_before_anything_is_asked() -> None:
    async with harness([], BARE) as given:
        agent = await given.agents.create("script/it")
        agent.inject("it rains")
        agent.followup("\n## Make the failing test pass\nand tell me why it failed")
        agent.followup("another")
        await agent.when_idle()
        assert agent.session.project("title") == "Make the failing test pass"
        titles = payloads(agent.session, "session/title")
        assert [title.get("source") for title in titles] == [{"kind": "prompt"}]
        assert types(agent.session).index("session/title") < types(agent.session).index("request/sent")
        assert "request/side" not in types(agent.session)


async def test_a_model_gives_a_better_one_when_that_is_allowed() -> None:
    async with harness([["Failing test", {"usage": {"inputTokens": 40, "outputTokens": 3}}]]) as given:
        agent = await given.agents.create("script/it")
        agent.followup("Make the failing test pass")
        await agent.when_idle()
        await until(lambda: agent.session.project("title") == "Failing test")
        [_, title] = payloads(agent.session, "session/title")
        source = title.get("source")
        assert (source["kind"], source["model"], source["usage"]["inputTokens"]) == ("model", "namer", 40)
        assert agent.session.project("request").sides[source["request"]].sent.purpose == "title"
        assert agent.session.project("usage").side.input_tokens == 40
        assert check(agent.session) == []


async def test_nothing_waits_for_the_model_and_the_end_of_the_agent_does_not_either() -> None:
    async with harness([[{"pause": 60_000}, {"text": "late"}]]) as given:
        agent = await given.agents.create("script/it")
        agent.followup("one")
        await agent.when_idle()
        assert payloads(agent.session, "turn/end")[0].reason.kind == "completed"
        await until(lambda: "request/side" in types(agent.session))
        await agent.dispose()
        assert agent.session.project("title") == "one"


@pytest.mark.parametrize("answer", [{"fail": {"code": "SERVER"}}, {"call": {"name": "bash"}}, "***"])
async def test_a_model_that_has_no_title_leaves_the_first(answer: Answer) -> None:
    async with harness([answer]) as given:
        agent = await given.agents.create("script/it")
        agent.followup("one")
        await agent.when_idle()
        await until(lambda: "request/side" in types(agent.session))
        await agent.dispose()
        assert agent.session.project("title") == "one"


async def test_a_title_that_somebody_gave_meanwhile_stays() -> None:
    async with harness([[{"pause": 50}, {"text": "by the model"}]]) as given:
        agent = await given.agents.create("script/it")
        agent.followup("one")
        await agent.when_idle()
        agent.session.append(SessionTitle(title="mine", source_json=json_raw({"kind": "user"})))
        await until(lambda: "request/side" in types(agent.session))
        await agent.dispose()
        assert agent.session.project("title") == "mine"


async def test_a_projects_file_may_not_say_who_reads_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "everlog.toml").write_text('[plugin.titles]\nmodel = "script/namer"\n')
    config = Config.load(tmp_path, {})
    assert config.origin("plugin", "titles", "model") is not None
    async with Harness(config, "memory:", [scripted({"it": ["a"], "namer": ["stolen"]})]) as given:
        agent = await given.agents.create("script/it")
        agent.followup("one")
        await agent.when_idle()
        assert "request/side" not in types(agent.session)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("  fix it.  ", "fix it"),
        ("---\n\n# Heading\nrest", "Heading"),
        ('"quoted"', "quoted"),
        ("把测试修好。", "把测试修好。"),
        ("\n\n", ""),
        ("word " * 40, "word word word word word word word word word word word word…"),
        ("x" * 200, "x" * MAX_TITLE + "…"),
    ],
)
def test_a_title_is_one_short_line_of_words(text: str, title: str) -> None:
    assert short(text) == title
