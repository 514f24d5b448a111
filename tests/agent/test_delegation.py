"""An agent has others work for it: each in a session of its own, below it in every sense."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.agent.stage import BARE, MODEL, call, endings, payloads, until
from tests.cli.conftest import Cli

from everlog import Harness, open_store
from everlog.agent.delegation import last_answer
from everlog.kernel import Config
from everlog.llm.script import Answer, scripted
from everlog.session.rules import check
from everlog.store import DurableSession

CONFIG = BARE.replace("[plugins]\n", '[plugins]\nenable = ["delegation"]\n')
TWO = [[call("delegate", task="one")["call"] | {"id": "a"}, call("delegate", task="two")["call"] | {"id": "b"}]]
BOTH = [{"call": part} for part in TWO[0]]


@asynccontextmanager
async def stage(
    parent: Sequence[Answer], child: Sequence[Answer], store: str = "memory:", depth: int = 2, config: str = CONFIG
) -> Any:
    table = f'[plugin.delegation]\nmodel = "script/child"\ndepth = {depth}\n'
    scripts = scripted({"it": parent, "child": child})
    async with Harness(Config.parse(config + table), store, [scripts]) as harness:
        yield harness


async def asked(harness: Harness) -> DurableSession:
    agent = await harness.agents.create(MODEL)
    agent.followup("go")
    await agent.when_idle()
    return agent.session  # type: ignore[return-value]


async def children(harness: Harness, parent: str) -> list[Any]:
    return [found for found in await harness.store.list(1000) if found.parent_session == parent]


async def test_the_last_answer_of_a_child_is_the_result_of_the_call() -> None:
    async with stage([call("delegate", task="look it up"), "So it is."], ["It is 42."]) as harness:
        session = await asked(harness)
        [result] = payloads(session, "tool/result")
        assert result.message.result.content[0].text == "It is 42."
        [child] = await children(harness, session.id)
        assert (child.origin, child.delegation_depth, child.preview) == ("subagent", 1, "look it up")
        assert result.meta == {"session": child.id, "ended": "completed"}
        assert [event.data["session"] for event in session.events if event.type == "everlog/delegated"] == [child.id]
        async with await harness.store.open(child.id) as log:
            assert (last_answer(log), check(log), endings(log)) == ("It is 42.", [], ["completed"])
        assert check(session) == []
        assert [agent.id for agent in harness.agents.list()] == [session.id]


async def test_children_that_were_asked_for_together_run_together() -> None:
    async with stage([BOTH, "Both."], [[{"pause": 300}, "Done."]]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: len(harness.agents.list()) == 3)
        await agent.when_idle()
        assert len(await children(harness, agent.id)) == 2
        assert [p.error for p in payloads(agent.session, "tool/result")] == [None, None]


async def test_no_agent_stands_deeper_than_the_limit() -> None:
    deeper = [call("delegate", task="deeper"), "Back."]
    async with stage(deeper, deeper) as harness:
        session = await asked(harness)
        found = await harness.store.list(100)
        assert sorted(one.delegation_depth or 0 for one in found) == [0, 1, 2]
        [deepest] = [one for one in found if one.delegation_depth == 2]
        async with await harness.store.open(deepest.id) as log:
            assert [p.error.code for p in payloads(log, "tool/result")] == ["DELEGATION_TOO_DEEP"]
        assert endings(session) == ["completed"]


async def test_a_child_that_fails_is_a_failed_call_that_names_its_session() -> None:
    async with stage([call("delegate", task="x"), "I see."], [{"fail": {"code": "AUTH"}}]) as harness:
        session = await asked(harness)
        [result] = payloads(session, "tool/result")
        assert result.error.code == "DELEGATE_FAILED"
        assert result.meta["session"] in result.message.result.content[0].text
        assert endings(session) == ["completed"]


async def test_a_cancel_reaches_down_to_every_child() -> None:
    async with stage([BOTH, "Unused."], [["So", {"pause": 60_000}]]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: len(harness.agents.list()) == 3)
        below = [one.session for one in harness.agents.list() if one.id != agent.id]
        await until(lambda: all(one.ledger.turns.step_open for one in below))
        agent.cancel()
        await agent.when_idle()
        assert harness.agents.list() == [agent]
        for session in below:
            assert endings(session) == ["aborted"]
            assert payloads(session, "turn/end")[0].reason.reason == {"kind": "parent"}
        assert [p.error.code for p in payloads(agent.session, "tool/result")] == ["TOOL_CANCELLED"] * 2


async def test_a_cancelled_call_says_what_its_child_may_have_changed() -> None:
    asks = [call("bash", command="true"), ["So", {"pause": 60_000}]]
    async with stage([BOTH[:1], "Unused."], asks, config=CONFIG.replace('"builtin-tools", ', "")) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: len(harness.agents.list()) == 2)
        child = next(one.session for one in harness.agents.list() if one.id != agent.id)
        await until(lambda: child.ledger.turns.step == 2 and child.ledger.turns.step_open)
        agent.cancel()
        await agent.when_idle()
        [result] = payloads(agent.session, "tool/result")
        said = result.message.result.content[0].text
        assert (result.error.code, result.meta) == ("TOOL_CANCELLED", {"session": child.id, "ended": "aborted"})
        assert child.id in said
        assert "It had called bash" in said
        assert "only reads" not in said
        assert endings(agent.session) == ["aborted"]


async def test_a_cancelled_call_whose_child_called_nothing_changed_nothing() -> None:
    async with stage([BOTH[:1], "Unused."], [["So", {"pause": 60_000}]]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: len(harness.agents.list()) == 2)
        child = next(one.session for one in harness.agents.list() if one.id != agent.id)
        await until(lambda: child.ledger.turns.step_open)
        agent.cancel()
        await agent.when_idle()
        [result] = payloads(agent.session, "tool/result")
        assert "it changed nothing" in result.message.result.content[0].text


async def test_a_cancel_reaches_down_through_every_generation() -> None:
    """Each delegates until the one at the bottom is refused, which still talks when the one at the top is cancelled."""
    asks = [call("delegate", task="deeper"), ["So", {"pause": 60_000}]]
    async with stage(asks, asks) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup("go")
        await until(lambda: len(harness.agents.list()) == 3)
        agents = harness.agents.list()
        await until(lambda: any(one.session.ledger.turns.step == 2 for one in agents))
        agent.cancel()
        await agent.when_idle()
        assert harness.agents.list() == [agent]
        assert [endings(one.session) for one in agents] == [["aborted"]] * 3
        assert [check(one.session) for one in agents] == [[]] * 3


async def test_the_mode_that_only_reads_lets_children_read_and_no_more() -> None:
    config = CONFIG.replace('mode = "full"', 'mode = "read-only"').replace('"builtin-tools", ', "")
    asks = [call("glob", pattern="*"), call("bash", command="true"), "Done."]
    async with stage([call("delegate", task="x"), "Done."], asks, config=config) as harness:
        session = await asked(harness)
        assert [p.error for p in payloads(session, "tool/result")] == [None]
        [child] = await children(harness, session.id)
        async with await harness.store.open(child.id) as log:
            found = [p.error and p.error.code for p in payloads(log, "tool/result")]
            assert found == [None, "PERMISSION_DENIED"]


async def test_what_was_permitted_to_the_parent_holds_for_the_child() -> None:
    from everlog.tools.declare import tool
    from everlog.tools.permissions import Permissions
    from everlog.tools.seam import Tools

    @tool
    def change() -> str:
        """Change something."""
        return "changed"

    config = CONFIG.replace('mode = "full"', 'mode = "ask"')
    asks = [call("delegate", task="x"), "Done."]
    async with stage(asks, [call("change"), "Done."], config=config) as harness:
        harness.kernel[Tools].add(change)
        refused = await asked(harness)
        agent = await harness.agents.create(
            MODEL, set_up=lambda made: harness.kernel[Permissions].use_mode("full", made.scope) and None
        )
        agent.followup("go")
        await agent.when_idle()
        outcomes = []
        for parent in (refused.id, agent.id):
            [child] = await children(harness, parent)
            async with await harness.store.open(child.id) as log:
                outcomes.append([p.error and p.error.code for p in payloads(log, "tool/result")])
        assert outcomes == [["PERMISSION_DENIED"], [None]]


WORKER = """
import asyncio, sys
from everlog import Harness
from everlog.kernel import Config
from everlog.llm.script import scripted
from everlog.session.records import deltas_of
from everlog.store import open_store
from tests.agent.test_delegation import BOTH, CONFIG

async def halves(store):
    # how many children have their half of an answer in the store, as another process sees it
    said = []
    async with open_store(store) as other:
        for one in await other.list():
            async with await other.open(one.id, "read") as log:
                said.append("".join(delta.text for event in log.events for delta in deltas_of(event)))
    return said.count("Half an answer")

async def main(store):
    config = Config.parse(CONFIG + '[plugin.delegation]\\nmodel = "script/child"\\n')
    scripts = scripted({"it": [BOTH, "Unused."], "child": [["Half an answer", {"pause": 60000}]]})
    async with Harness(config, store, [scripts]) as harness:
        agent = await harness.agents.create("script/it")
        agent.followup("go")
        while await halves(store) < 2:
            await asyncio.sleep(0.01)
        print(agent.id, flush=True)
        await agent.when_idle()

asyncio.run(main(sys.argv[1]))
"""


async def test_a_killed_parent_leaves_whole_logs_of_its_children(tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/s.db"
    root = Path(__file__).parents[2]
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", WORKER, store], stdout=subprocess.PIPE, text=True, cwd=root
    ) as process:
        assert process.stdout is not None
        id = await asyncio.to_thread(process.stdout.readline)
        os.kill(process.pid, signal.SIGKILL)
    async with open_store(store) as opened:
        found = await opened.list()
        assert len(found) == 3
        for one in found:
            async with await opened.open(one.id, "write") as session:
                assert check(session) == []
                assert endings(session) == ["interrupted"]
                if one.id == id.strip():
                    assert [p.error.code for p in payloads(session, "tool/result")] == ["TOOL_OUTCOME_UNKNOWN"] * 2
                else:
                    assert (one.parent_session, last_answer(session)) == (id.strip(), "Half an answer")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_show_and_sessions_draw_the_tree(cli: Cli) -> None:
    child = cli.script("- It is 42.", "child.yaml")
    cli.config.write_text(f'[plugins]\nenable = ["delegation"]\n[plugin.delegation]\nmodel = "{child}"\n')
    made = cli.ran("- call: {name: delegate, arguments: {task: look it up}}\n- So it is.")
    listed = cli("sessions").out.splitlines()
    assert "└─ (subagent) look it up" in listed[2]
    assert listed[1].startswith(made["session"][:8])
    shown = cli("show", made["session"]).out
    assert "└─ " in shown
    assert "look it up" in shown.splitlines()[-1]


def test_the_tree_is_drawn_through_every_generation(cli: Cli) -> None:
    child = cli.script("- call: {name: delegate, arguments: {task: look deeper}}\n- It is 42.", "child.yaml")
    cli.config.write_text(f'[plugins]\nenable = ["delegation"]\n[plugin.delegation]\nmodel = "{child}"\n')
    made = cli.ran("- call: {name: delegate, arguments: {task: look it up}}\n- So it is.")
    for lines in (cli("sessions").out.splitlines()[2:4], cli("show", made["session"]).out.splitlines()[-2:]):
        one, two = (line.index("└─ ") for line in lines)
        assert one < two
        assert "look it up" in lines[0]
        assert "look deeper" in lines[1]
