"""When a request is too long, or is about to be, the loop asks for room and goes on as the contract says."""

from collections.abc import AsyncIterator

from tests.agent.stage import MODEL, endings, payloads, said, stage, told, types

from everlog.compaction.seam import Compactor, Occasion, Relief
from everlog.kernel import Context, Plugin, plugin
from everlog.session import Replace
from everlog.session.messages import Message, PluginSource, Text, user_message
from everlog.session.payloads import (
    CompactionEnd,
    CompactionStart,
    CompactionSummary,
    Range,
)
from everlog.session.rules import check

TOO_LONG = {"fail": {"code": "CONTEXT_OVERFLOW", "status": 400}}


class Shortening(Compactor):
    """Replaces everything behind the system prompt but the newest message with one line, when asked to."""

    def __init__(self, *triggers: str) -> None:
        self.triggers = triggers
        self.asked: list[str] = []

    async def make_room(self, occasion: Occasion) -> Relief | None:
        self.asked.append(occasion.trigger)
        session = occasion.session
        nodes = session.surface.nodes[1:-1]
        if occasion.trigger not in self.triggers or len(nodes) < 2:
            return None
        turn, id = session.ledger.turns.open_turn, f"c{session.next_seq}"
        start = session.append(CompactionStart(compaction_id=id, turn=turn, trigger=occasion.trigger))
        shadowed = Range(start_seq=nodes[0], end_seq=nodes[-1])
        summary = session.append(
            CompactionSummary(compaction_id=id, shadowed_range=shadowed, shadowed_seqs=nodes, shadowed_tokens=1)
        )
        source = PluginSource(plugin="shortening", compaction_id=id)
        message = Message(id=f"s{start.seq}", role="user", content=(Text(text="(earlier)"),), source=source)
        session.append(message, Replace(nodes[0], nodes[-1]), [start.seq, summary.seq, *nodes])
        session.append(CompactionEnd(compaction_id=id, turn=turn))
        return Relief(2, 1, summarised=len(nodes))


def providing(compactor: Compactor) -> Plugin:
    @plugin(name="test-compaction", provides=(Compactor,))
    async def compaction(ctx: Context) -> AsyncIterator[None]:
        """Makes room."""
        ctx.provide(Compactor, compactor)
        yield

    return compaction


async def test_room_is_made_after_the_input_is_logged_and_before_the_request() -> None:
    compactor = Shortening("window")
    async with stage(["a", "b", "c"], plugins=[providing(compactor)]) as harness:
        agent = await told(harness, "one", "two")
        assert said(agent.session) == ["user: (earlier)", "user: two", "assistant: b"]
        landed = types(agent.session).index("compaction/start")
        assert types(agent.session)[landed - 1] == "user/message"
        assert [h.reason for h in payloads(agent.session, "request/header")] == ["initial", "series"]
        assert payloads(agent.session, "request/header")[1].starts_series
        assert check(agent.session) == []


async def test_a_request_that_was_too_long_is_tried_once_more_in_a_new_step() -> None:
    compactor = Shortening("overflow")
    async with stage(["a", TOO_LONG, "b"], plugins=[providing(compactor)]) as harness:
        agent = await told(harness, "one", "two")
        assert endings(agent.session) == ["completed", "completed"]
        assert said(agent.session) == ["user: (earlier)", "user: two", "assistant: b"]
        overflowed = types(agent.session).index("assistant/attempt")
        assert types(agent.session)[overflowed : overflowed + 8] == [
            "assistant/attempt",
            "step/end",
            "compaction/start",
            "compaction/summary",
            "user/message",
            "compaction/end",
            "step/start",
            "request/header",
        ]
        assert check(agent.session) == []


async def test_a_second_overflow_in_a_row_ends_the_turn() -> None:
    compactor = Shortening("overflow")
    async with stage(["a", TOO_LONG, TOO_LONG, "c"], plugins=[providing(compactor)]) as harness:
        agent = await told(harness, "one", "two")
        [_, end] = payloads(agent.session, "turn/end")
        assert end.reason.error.code == "CONTEXT_OVERFLOW"
        assert compactor.asked.count("overflow") == 1


async def test_without_room_to_make_the_turn_ends_with_the_providers_words() -> None:
    async with stage([TOO_LONG]) as harness:
        agent = await told(harness, "one")
        assert payloads(agent.session, "turn/end")[0].reason.error.code == "CONTEXT_OVERFLOW"


async def test_steering_that_comes_while_room_is_made_is_kept_in_order() -> None:
    class Steered(Shortening):
        async def make_room(self, occasion: Occasion) -> Relief | None:
            if self.asked == ["window"]:  # in the second turn
                harness.agents.get(occasion.session.id).steer("and this")
                harness.agents.get(occasion.session.id).steer("and that")
            return await super().make_room(occasion)

    async with stage(["a", "b", "c"], plugins=[providing(Steered("window"))]) as harness:
        agent = await told(harness, "one", "two")
        entered = [data.text for data in payloads(agent.session, "user/message")]
        assert entered == ["one", "two", "(earlier)", "and this", "and that", "(earlier)"]
        assert len(payloads(agent.session, "turn/start")) == 2


async def test_a_compaction_that_is_left_open_is_ended_with_its_turn() -> None:
    class Careless(Compactor):
        async def make_room(self, occasion: Occasion) -> Relief | None:
            turn = occasion.session.ledger.turns.open_turn
            occasion.session.append(CompactionStart(compaction_id="c", turn=turn, trigger="window"))
            raise RuntimeError("no summary today")

    async with stage(["a"], plugins=[providing(Careless())]) as harness:
        agent = await harness.agents.create(MODEL)
        agent.followup(user_message("one"))
        await agent.when_idle()
        assert types(agent.session)[-4:] == ["compaction/start", "step/end", "compaction/end", "turn/end"]
        assert endings(agent.session) == ["error"]
        assert check(agent.session) == []
