"""`everlog compact` shortens a session's view when a person asks, in a process of its own."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest
from tests.cli.conftest import Cli

from everlog import open_store

SAID = "word " * 600
TALK = f"""
- "first {SAID}"
- "second {SAID}"
- - text: They counted to three.
  - usage: {{inputTokens: 100, cacheReadTokens: 900, outputTokens: 9}}
"""
SLOW = TALK.replace("- - text: They", "- - pause: 600_000\n  - text: They")


def talked(cli: Cli, script: str = TALK) -> str:
    """A session of two turns whose script goes on with a summary; give its id."""
    session: str = cli.ran(script)["session"]
    assert cli("resume", session, "on", "--output", "json").code == 0
    return session


def log(cli: Cli, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("show", session, "--view", "log", "--json").json
    return found


def seen(cli: Cli, session: str) -> Any:
    return cli("show", session, "--view", "messages", "--json").json


def test_a_person_has_a_session_shortened_and_hears_what_that_gained(cli: Cli) -> None:
    session = talked(cli)
    done = cli("compact", session[:8], "--focus", "the numbers")
    assert done.code == 0, done
    figures, by, where = done.out.splitlines()
    assert "tokens before" in figures
    assert by.startswith("a summary by script/")
    assert "stands for" in by
    assert "1,000 tokens in (900 from cache), 9 out" in by
    opened = cli(*where.partition("everlog ")[2].split())
    assert "first word" in opened.out, "what the last line says shows the originals"
    assert any("They counted to three." in str(message) for message in seen(cli, session))
    [side] = [event["data"] for event in log(cli, session) if event["type"] == "request/side"]
    asked = cli("request", session, "--side", side["id"], "--json").out
    assert "Above all, keep what concerns this: the numbers" in asked


def test_the_log_and_the_transcript_keep_every_line(cli: Cli) -> None:
    session = talked(cli)
    before, said = log(cli, session), cli("show", session, "--json").json
    assert cli("compact", session).code == 0
    after = log(cli, session)
    assert after[: len(before)] == before
    lines = cli("show", session, "--json").json
    assert [line["message"] for line in lines] == [line["message"] for line in said]
    assert "from here the model sees event" in cli("show", session).out
    assert cli("verify", session).code == 0


def test_json_tells_the_figures_and_which_event_stands_for_what(cli: Cli) -> None:
    session = talked(cli)
    found = cli("compact", "--last", "--json").json
    assert found["session"] == session
    assert found["after"] < found["before"]
    assert found["writtenBy"].startswith("script/")
    assert found["usage"]["cacheReadTokens"] == 900
    parts = cli("context", session, "--json").json["parts"]
    [summary] = [part for part in parts if part["standsFor"]]
    assert (summary["seq"], len(summary["standsFor"])) == (found["seq"], found["summarised"])


def test_the_template_asks_no_model(cli: Cli) -> None:
    session = talked(cli)
    cli.config.write_text('[plugin.compaction]\nsummarise_with = "template"\n')
    found = cli("compact", session, "--json").json
    assert (found["writtenBy"], found["usage"]) == ("template", None)
    assert not any(event["type"] == "request/side" for event in log(cli, session))


def test_input_that_waits_goes_on_waiting(cli: Cli) -> None:
    session = talked(cli)

    async def wait() -> None:
        from everlog.agent import inbox

        async with open_store(f"sqlite:///{cli.database}") as store, await store.open(session, "write") as opened:
            inbox.put(opened, "later", "next-turn", wakes=True)

    asyncio.run(wait())
    assert cli("compact", session).code == 0
    assert "later" in cli("show", session, "--view", "inbox").out
    assert log(cli, session)[-1]["type"] == "compaction/end"


def test_where_there_is_nothing_to_shorten_the_log_stays_as_it_is(cli: Cli) -> None:
    session = cli.ran("- Done.")["session"]
    before = log(cli, session)
    done = cli("compact", session)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("everlog: there is nothing to shorten")
    assert log(cli, session) == before


def test_a_summary_that_fails_leaves_the_view_as_it_was_and_says_why(cli: Cli) -> None:
    session = talked(cli, TALK.split("- - text")[0] + "- fail: {code: BAD_REQUEST, message: not today}\n")
    before = seen(cli, session)
    done = cli("compact", session)
    assert done.code == 1
    assert "not today" in done.err.splitlines()[-1]
    assert seen(cli, session) == before


def test_ctrl_c_cancels_it_and_the_view_is_as_it_was(cli: Cli) -> None:
    session = talked(cli, SLOW)
    before = seen(cli, session)
    process = cli.start("compact", session)
    assert process.stderr is not None
    while not any(event["type"] == "request/side" for event in log(cli, session)):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "everlog: cancelled; what the model sees is as it was"
    assert seen(cli, session) == before
    assert log(cli, session)[-1]["data"]["error"]["code"] == "CANCELLED"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "name a session"),
        (("nowhere",), 1, "nowhere"),
        (("--last", "--model", "nobody/it"), 2, "no provider 'nobody'"),
        (("--last", "--model", "openai/it"), 2, "OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(cli: Cli, arguments: tuple[str, ...], code: int, says: str) -> None:
    cli.ran("- Done.")
    done = cli("compact", *arguments)
    assert done.code == code
    assert says in done.err
    assert len(done.err.splitlines()) == 1


def test_without_the_plugin_it_says_so(cli: Cli) -> None:
    session = talked(cli)
    cli.config.write_text('[plugins]\ndisable = ["compaction"]\n')
    done = cli("compact", session)
    assert done.code == 1
    assert "no compaction is loaded" in done.err
