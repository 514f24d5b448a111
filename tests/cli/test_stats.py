"""`everlog stats` tells what one session cost, or all of a period."""

from __future__ import annotations

import asyncio
import re
import time

import pytest
from tests.cli.conftest import Cli
from tests.session.stories import Story

from everlog import open_store
from everlog.cli.stats import _ORDERS
from everlog.session.payloads import Usage

PRICES = '[model."p/m".price]\ninput = 2.0\noutput = 10.0\ncache_read = 0.2\n'


async def tell(cli: Cli) -> None:
    async with open_store(f"sqlite:///{cli.database}") as store:
        for id in ("one", "two"):
            async with await store.create({"id": id}) as session:
                story = Story(session)
                for _ in range(2):
                    story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
                    story.fail(usage=Usage(input_tokens=100)), story.retry(), story.sent(2)
                    usage = Usage(input_tokens=400, cache_read_tokens=600, output_tokens=50)
                    story.answer(calls=["c"], usage=usage), story.call("c"), story.result("c")
                    story.end_step(), story.end_turn()
        async with await store.fork("one"):
            pass


@pytest.fixture
def two(cli: Cli) -> Cli:
    asyncio.run(tell(cli))
    cli.config.write_text(PRICES)
    return cli


def test_one_session_is_summed_up_by_its_turns(two: Cli) -> None:
    found = two("stats", "one", "--json").json
    assert [line["turn"] for line in found["by"]] == ["1", "2"]
    total = found["total"]
    assert (total["requests"], total["retries"], total["failed"], total["calls"]) == (4, 2, 2, 2)
    assert total["inputTokens"] == 2_200
    assert total["hitRate"] == pytest.approx(1_200 / 2_200)
    assert total["cost"] == pytest.approx(2 * (500 * 2 + 600 * 0.2 + 50 * 10) / 1_000_000)
    told = two("stats", "one").out
    assert "4 requests in 1 session, 2 made again, 2 without an answer" in told
    assert "55% of them from cache" in told
    assert "cost 0.0032" in told


def test_tokens_are_told_by_kind_and_answers_by_how_fast_they_came(cli: Cli) -> None:
    usage = "{inputTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 7, outputTokens: 9, reasoningTokens: 4}"
    cli.ran(f"- - text: one\n  - pause: 5\n  - text: two\n  - usage: {usage}")
    told = cli("stats", "--last").out
    assert "10 tokens in, 20% of them from cache and 7 written to it; 9 out, 4 of them reasoning" in told
    assert re.search(r"^the first piece of an answer after [\d.,]+ s \(median\), [\d.,]+ tokens a second$", told, re.M)


def test_where_no_price_is_known_it_says_so_and_how_to_tell_it(two: Cli) -> None:
    two.config.write_text("")
    assert 'cost not known: no price is known of p/m; [model."p/m".price] in everlog.toml' in two("stats", "one").out
    total = two("stats", "one", "--json").json["total"]
    assert (total["cost"], total["unpriced"], total["unpricedModels"]) == (None, 4, ["p/m"])


def test_what_is_read_from_the_cache_costs_as_much_as_other_input_unless_the_price_says(two: Cli) -> None:
    two.config.write_text('[model."p/m".price]\ninput = 2.0\n')
    assert two("stats", "one", "--json").json["total"]["cost"] == pytest.approx(2_200 * 2 / 1_000_000)


def test_a_price_below_nothing_is_refused(two: Cli) -> None:
    two.config.write_text('[model."p/m".price]\ninput = -2.0\n')
    refused = two("stats", "one")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "price" in refused.err


def test_all_sessions_are_summed_up_and_what_a_fork_inherited_counts_once(two: Cli) -> None:
    found = two("stats", "--json", "--by", "session").json
    assert found["sessions"] == 3
    assert sorted(line["session"] for line in found["by"]) == ["one", "two"]
    assert found["total"]["requests"] == 8
    assert [line["day"] for line in two("stats", "--json").json["by"]] == [time.strftime("%Y-%m-%d")]


@pytest.mark.parametrize(
    ("by", "groups"), [("step", ["1.1", "2.1"]), ("model", ["p/m"]), ("purpose", ["step"]), ("tool", ["read"])]
)
def test_it_is_summed_up_by_what_one_likes(two: Cli, by: str, groups: list[str]) -> None:
    assert [line[by] for line in two("stats", "one", "--by", by, "--json").json["by"]] == groups


def test_a_tool_has_only_the_columns_that_say_something_of_it(two: Cli) -> None:
    *_, heads, row = two("stats", "one", "--by", "tool").out.splitlines()
    assert heads.split() == ["TOOL", "CALLS", "TOOLS"]
    assert row.split()[:2] == ["read", "2"]


def test_a_period_begins_when_one_says(two: Cli) -> None:
    assert two("stats", "--since", "1d", "--json").json["total"]["requests"] == 8
    assert two("stats", "--since", "2999-01-01", "--json").json["total"]["requests"] == 0
    assert "no request was made" in two("stats", "--since", "2999-01-01").out
    refused = two("stats", "--since", "yesterday")
    assert refused.code == 2
    assert "7d" in refused.err


def test_the_tokens_can_be_drawn(two: Cli) -> None:
    done = two("stats", "one", "--plot")
    assert done.code == 0
    assert "tokens by turn" in done.out
    assert "from cache" in done.out
    assert "\x1b" not in done.out


def test_where_no_tokens_were_told_nothing_is_drawn(cli: Cli) -> None:
    cli.ran("- Hello.")
    done = cli("stats", "--plot")
    assert done.code == 0, done
    assert "no tokens to draw" in done.out


def test_a_call_that_never_ran_counts_on_the_day_of_its_step(cli: Cli) -> None:
    async def cut_off() -> None:
        async with open_store(f"sqlite:///{cli.database}") as store, await store.create({"id": "cut"}) as session:
            story = Story(session)
            story.turn(), story.step(), story.prompt("go"), story.header(), story.sent()
            story.answer(calls=["c"]), story.result("c", "no", "TOOL_NOT_STARTED"), story.end_step(), story.end_turn()

    asyncio.run(cut_off())
    assert [line["day"] for line in cli("stats", "--json").json["by"]] == [time.strftime("%Y-%m-%d")]


def test_steps_of_several_sessions_stand_in_their_order() -> None:
    names = ["2.1", "1.10", "title", "1.2"]
    assert sorted(names, key=_ORDERS["step"]) == ["1.2", "1.10", "2.1", "title"]
